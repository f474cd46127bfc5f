/* Several counters sell tickets at the same time: processes append rendered tickets to one book, a file under a lock. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNTERS = 2, SIDE = 29, LINE = SIDE + 1 };

struct ticket {
    uint32_t counter, number;
    uint64_t code;
};

static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
    return value * 0xc4ceb9fe1a85ec53u;
}

/* The ticket's pattern, as lines of text: the mask with the fewest equal neighbours is taken, as for a QR code. */
static void render(const struct ticket *ticket, char *text)
{
    uint64_t best = UINT64_MAX;
    for (uint64_t mask = 0; mask < 8; mask++) {
        char candidate[SIDE * LINE];
        uint64_t bits = ticket->code ^ mask, equal = 0;
        for (int y = 0; y < SIDE; y++) {
            for (int x = 0; x < SIDE; x++) {
                bits = mix(bits + (uint64_t)(x * y) * mask);
                candidate[y * LINE + x] = bits & 1 ? '#' : '.';
                if (x > 0)
                    equal += candidate[y * LINE + x] == candidate[y * LINE + x - 1];
                if (y > 0)
                    equal += candidate[y * LINE + x] == candidate[(y - 1) * LINE + x];
            }
            candidate[y * LINE + SIDE] = '\n';
        }
        if (equal < best) {
            best = equal;
            memcpy(text, candidate, sizeof candidate);
        }
    }
}

static void append(int book, const struct ticket *ticket)
{
    char text[SIDE * LINE];
    flock(book, LOCK_EX);
    render(ticket, text);
    if (write(book, text, sizeof text) != sizeof text)
        exit(1);
    flock(book, LOCK_UN);
}

static void sell(const char *path, uint32_t counter, uint32_t tickets)
{
    int book = open(path, O_WRONLY | O_APPEND);
    if (book < 0)
        exit(1);
    for (uint32_t number = 0; number < tickets; number++) {
        struct ticket ticket = {counter, number, 0};
        ticket.code = mix(mix(counter * 1000003u + number) + number);
        append(book, &ticket);
    }
    close(book);
}

/* Sum over the tickets in the book, whatever their order. */
static uint64_t audit(const char *path)
{
    char text[SIDE * LINE];
    uint64_t sum = 0;
    FILE *book = fopen(path, "r");
    while (book && fread(text, sizeof text, 1, book) == 1) {
        uint64_t hash = 14695981039346656037u;
        for (size_t at = 0; at < sizeof text; at++)
            hash = (hash ^ (uint8_t)text[at]) * 1099511628211u;
        sum += hash;
    }
    if (book)
        fclose(book);
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t tickets = argc > 1 ? (uint32_t)atoi(argv[1]) : 20000;
    char path[] = "/var/tmp/ticket-book-XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    for (uint32_t counter = 0; counter < COUNTERS; counter++) {
        if (fork() == 0) {
            sell(path, counter, tickets);
            _exit(0);
        }
    }
    for (uint32_t counter = 0; counter < COUNTERS; counter++)
        wait(NULL);
    printf("%016llx\n", (unsigned long long)audit(path));
    unlink(path);
    return 0;
}
