/* Sums the amounts of an account over a table on disk that is not in the page cache. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDS_IN_PAGE = 64, READ_RECORDS = 256 * RECORDS_IN_PAGE };

struct record {
    uint32_t account, day;
    int64_t amount;
    uint8_t memo[48];
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* A table of `pages` pages, on disk and out of the cache. */
static int make_table(const char *folder, int pages)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/column-scan-%d", folder, (int)getpid());
    int table = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (table < 0)
        fail(path);
    unlink(path);
    static struct record records[RECORDS_IN_PAGE];
    uint32_t state = 6;
    for (int page = 0; page < pages; page++) {
        for (int r = 0; r < RECORDS_IN_PAGE; r++) {
            state = state * 1664525 + 1013904223;
            records[r] = (struct record){state >> 20, state >> 8 & 365, (int64_t)(state >> 12) - 500000, {0}};
        }
        if (write(table, records, sizeof records) != (ssize_t)sizeof records)
            fail("write");
    }
    if (fsync(table) != 0)
        fail("fsync");
    posix_fadvise(table, 0, 0, POSIX_FADV_DONTNEED);
    /* Most queries jump about in the table. */
    posix_fadvise(table, 0, 0, POSIX_FADV_RANDOM);
    return table;
}

static int64_t weigh(const struct record *records, size_t count, uint32_t account)
{
    int64_t sum = 0;
    for (size_t r = 0; r < count; r++)
        if (records[r].account % 16 == account)
            sum += records[r].amount * (int64_t)(records[r].day % 7);
    return sum;
}

static int64_t scan(int table, uint32_t account)
{
    static struct record records[READ_RECORDS];
    int64_t sum = 0;
    off_t at = 0;
    ssize_t size;
    while ((size = pread(table, records, sizeof records, at)) > 0) {
        sum += weigh(records, (size_t)size / sizeof *records, account);
        at += size;
    }
    if (size < 0)
        fail("pread");
    return sum;
}

int main(int argc, char **argv)
{
    int pages = argc > 1 ? atoi(argv[1]) : 1000;
    int table = make_table(argc > 2 ? argv[2] : "/var/tmp", pages);
    printf("%ld\n", (long)scan(table, 3));
    close(table);
    return 0;
}
