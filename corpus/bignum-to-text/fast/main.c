/* Computes n! and writes it in a base, again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bignum.h"

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? atoi(argv[1]) : 60;
    int repeats = argc > 2 ? atoi(argv[2]) : 1000;
    struct writer w = {.base = argc > 3 ? atoi(argv[3]) : 10};
    uint32_t first[64] = {1}, work[64];
    struct bignum factorial = {first, 1};
    char text[4096];

    for (unsigned i = 2; i <= n; i++)
        bignum_multiply(&factorial, i);
    for (w.chunk = 1; w.chunk * w.base < (1u << 31); w.chunk *= w.base)
        w.chunk_digits++;

    uint64_t sum = 0;
    for (int r = 0; r < repeats; r++) {
        struct bignum copy = {work, factorial.used};
        memcpy(work, first, factorial.used * sizeof *work);
        work[0] += r & 7;
        w.text = text;
        w.at = sizeof text;
        bignum_to_text(&copy, &w);
        sum = sum * 31 + (unsigned char)text[w.at + r % 10] + (unsigned char)text[sizeof text - 1];
    }
    printf("%u! has %zu digits, sum %016llx\n", n, sizeof text - w.at, (unsigned long long)sum);
    return 0;
}
