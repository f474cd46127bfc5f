/* Checksums a stream in blocks (Adler's sum); a callback reports progress, and the sums
 * are reduced only once a block. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 5552 };  /* the most bytes before the sums could overflow */

typedef void (*progress_fn)(void *context, double share);

struct progress {
    int calls;
    double last;
};

static void show(void *context, double share)
{
    struct progress *p = context;
    p->calls++;
    p->last = share;
}

static void ignore(void *context, double share)
{
    (void)context, (void)share;
}

static uint32_t checksum(const uint8_t *data, size_t n, uint32_t modulus, progress_fn report, void *context)
{
    uint32_t a = 1, b = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t end = start + BLOCK < n ? start + BLOCK : n, i = start;
        for (; i + 8 <= end; i += 8) {
            const uint8_t *p = data + i;
            b += 8 * a + 8 * p[0] + 7 * p[1] + 6 * p[2] + 5 * p[3] + 4 * p[4] + 3 * p[5] + 2 * p[6] + p[7];
            a += p[0] + p[1] + p[2] + p[3] + p[4] + p[5] + p[6] + p[7];
        }
        for (; i < end; i++) {
            a += data[i];
            b += a;
        }
        a %= modulus;
        b %= modulus;
        report(context, (double)end / (double)n);
    }
    return b << 16 | a;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    int passes = argc > 2 ? atoi(argv[2]) : 100;
    uint8_t *data = malloc(n);
    uint32_t state = 1, sum = 0;
    struct progress progress = {0, 0};
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
    progress_fn report = argc > 3 ? ignore : show;
    for (int p = 0; p < passes; p++) {
        data[(size_t)p % n] ^= 1;
        sum = sum * 31 + checksum(data, n, 65521, report, &progress);
    }
    printf("%08x, %d reports, last %.2f\n", sum, progress.calls, progress.last);
    free(data);
    return 0;
}
