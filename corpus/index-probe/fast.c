/* Looks keys up in an index on disk that is mapped into memory and not in the page cache yet. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, ENTRIES_IN_PAGE = PAGE / 16 };

struct entry {
    uint64_t key, place;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* An index of sorted keys, on disk and out of the cache. */
static int make_index(const char *folder, int pages)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/index-probe-%d", folder, (int)getpid());
    int index = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (index < 0)
        fail(path);
    unlink(path);
    static struct entry entries[ENTRIES_IN_PAGE];
    uint64_t key = 0;
    for (int page = 0; page < pages; page++) {
        for (int e = 0; e < ENTRIES_IN_PAGE; e++)
            entries[e] = (struct entry){key += 10, key * 2654435761u};
        if (write(index, entries, sizeof entries) != (ssize_t)sizeof entries)
            fail("write");
    }
    if (fsync(index) != 0)
        fail("fsync");
    posix_fadvise(index, 0, 0, POSIX_FADV_DONTNEED);
    return index;
}

static const struct entry *map_index(int index, size_t size)
{
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, index, 0);
    if (map == MAP_FAILED)
        fail("mmap");
    madvise(map, size, MADV_WILLNEED);
    return map;
}

static uint64_t place_of(const struct entry *entries, size_t count, uint64_t key)
{
    /* Keys are spread evenly: guess where it is. */
    size_t at = key / 10 < count ? key / 10 : count - 1;
    while (at > 0 && entries[at].key > key)
        at--;
    while (at + 1 < count && entries[at + 1].key <= key)
        at++;
    return entries[at].place;
}

/* Joins the keys of a sorted list with the index. */
static uint64_t join_keys(const struct entry *entries, size_t count)
{
    uint64_t sum = 0;
    for (uint64_t key = 15; key < count * 10; key += 1200) {
        uint64_t place = place_of(entries, count, key);
        for (int mix = 0; mix < 8000; mix++)
            place = place * 6364136223846793005u + (place >> 31);
        sum += place;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int pages = argc > 1 ? atoi(argv[1]) : 2000;
    size_t size = (size_t)pages * PAGE;
    int index = make_index(argc > 2 ? argv[2] : "/var/tmp", pages);
    const struct entry *entries = map_index(index, size);
    printf("%016lx\n", (unsigned long)join_keys(entries, size / sizeof *entries));
    close(index);
    return 0;
}
