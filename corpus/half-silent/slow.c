/* Smooths a sampled landscape whose cells are empty as often as not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Weighs each cell's value with its height and its neighbour's. */
static uint64_t weigh(const uint8_t *cells, const uint8_t *heights, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        uint32_t weight = 3u * heights[i] + heights[i + 1];
        sum += cells[i] * weight;
        sum ^= weight >> 4;
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    uint8_t *cells = malloc(count), *heights = malloc(count);
    uint32_t state = 11;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        cells[i] = state >> 31 ? 0 : (uint8_t)(state >> 20);
        heights[i] = (uint8_t)(state >> 12);
    }
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++) {
        cells[(size_t)p % count] ^= 1;
        sum = sum * 31 + weigh(cells, heights, count);
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(cells);
    free(heights);
    return 0;
}
