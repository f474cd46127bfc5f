/* Counts the bytes of a stream in blocks, in four tables so that equal neighbours do not
 * wait for each other; after each block the tables are added up and progress reported. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

typedef void (*progress_fn)(void *context, unsigned percent);

struct progress {
    int calls;
    unsigned last;
};

static void show(void *context, unsigned percent)
{
    struct progress *p = context;
    p->calls++;
    p->last = percent;
}

static void ignore(void *context, unsigned percent)
{
    (void)context, (void)percent;
}

static void count_block(const uint8_t *data, size_t n, uint64_t counts[256])
{
    uint32_t part[4][256];
    memset(part, 0, sizeof part);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        part[0][word & 255]++, part[1][word >> 8 & 255]++;
        part[2][word >> 16 & 255]++, part[3][word >> 24 & 255]++;
        part[0][word >> 32 & 255]++, part[1][word >> 40 & 255]++;
        part[2][word >> 48 & 255]++, part[3][word >> 56]++;
    }
    for (; i < n; i++)
        part[0][data[i]]++;
    for (int b = 0; b < 256; b++)
        counts[b] += part[0][b] + part[1][b] + part[2][b] + part[3][b];
}

static void count(const uint8_t *data, size_t n, uint64_t counts[256], progress_fn report, void *context)
{
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t size = n - start < BLOCK ? n - start : BLOCK;
        count_block(data + start, size, counts);
        report(context, (unsigned)((start + size) * 100 / n));
    }
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    int passes = argc > 2 ? atoi(argv[2]) : 100;
    uint8_t *data = malloc(n);
    uint64_t counts[256] = {0}, digest = 0;
    uint32_t state = 1;
    struct progress progress = {0, 0};
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (uint8_t)((state >> 24) * (state >> 12 & 255) >> 8);
    }
    progress_fn report = argc > 3 ? ignore : show;
    for (int p = 0; p < passes; p++) {
        data[(size_t)p % n] ^= 1;
        count(data, n, counts, report, &progress);
    }
    for (int b = 0; b < 256; b++)
        digest = digest * 31 + counts[b];
    printf("%016llx, %d reports, last %u %%\n", (unsigned long long)digest, progress.calls, progress.last);
    free(data);
    return 0;
}
