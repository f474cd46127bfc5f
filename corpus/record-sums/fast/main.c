/* Sums up the records of a log. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t sum_record(uint32_t sum, const uint8_t *record, size_t length);

int main(int argc, char **argv)
{
    size_t records = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    int passes = argc > 2 ? atoi(argv[2]) : 100;
    uint8_t *log = malloc(records * 80);
    uint32_t state = 3, sum = 0;
    for (size_t i = 0; i < records * 80; i++)
        log[i] = (uint8_t)((state = state * 1103515245 + 12345) >> 16);
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < records; i++)
            sum = sum_record(sum, log + i * 80, 60 + i % 20);
    printf("%08x\n", sum);
    free(log);
    return 0;
}
