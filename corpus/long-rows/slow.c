/* Scales the rows of a spectrum: rows are of one to six thousand values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void scale(uint16_t *row, const uint16_t *gain, size_t length)
{
    for (size_t i = 0; i < length; i++)
        row[i] = (uint16_t)(row[i] * gain[i] >> 8);
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 10;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    uint16_t *values = malloc((size_t)rows * 6016 * sizeof *values), gain[6016];
    uint32_t state = 29;
    for (size_t i = 0; i < (size_t)rows * 6016; i++)
        values[i] = (uint16_t)((state = state * 1664525 + 1013904223) >> 16);
    for (int i = 0; i < 6016; i++)
        gain[i] = (uint16_t)(250 + i % 13);
    for (int p = 0; p < passes; p++)
        for (int r = 0; r < rows; r++)
            scale(values + (size_t)r * 6016, gain, 1000 + (size_t)(r * 977 + p) % 5000);
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)rows * 6016; i++)
        sum = sum * 31 + values[i];
    printf("%016llx\n", (unsigned long long)sum);
    free(values);
    return 0;
}
