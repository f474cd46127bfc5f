/* Entropy of a file's blocks: a histogram of bytes that is cleared for each block. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

static double log_of[BLOCK + 1];

static double entropy(const unsigned char *block, uint32_t *histogram)
{
    for (size_t i = 0; i < BLOCK; i++)
        histogram[block[i]]++;
    double sum = 0;
    for (int value = 0; value < 256; value++) {
        sum -= histogram[value] * (log_of[histogram[value]] - log_of[BLOCK]);
        histogram[value] = 0;
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t blocks = argc > 1 ? strtoul(argv[1], 0, 10) : 16;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    for (int i = 1; i <= BLOCK; i++)
        log_of[i] = log2(i);
    unsigned char *data = malloc(blocks * BLOCK);
    uint32_t state = 7, histogram[256] = {0};
    for (size_t i = 0; i < blocks * BLOCK; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (unsigned char)((state >> 24) & (state >> (i / BLOCK % 13)));
    }
    double bits = 0;
    for (int p = 0; p < passes; p++)
        for (size_t b = 0; b < blocks; b++)
            bits += entropy(data + b * BLOCK, histogram);
    printf("%.3f\n", bits);
    free(data);
    return 0;
}
