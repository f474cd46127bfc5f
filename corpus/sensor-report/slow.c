/* Exports the readings of sensors as a table: temperatures in hundredths of a degree. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    uint32_t sensor, second;
    int32_t centidegrees;
};

static size_t write_row(char *to, size_t room, const struct reading *r)
{
    return (size_t)snprintf(to, room, "%u;%u;%.2f\n", r->sensor, r->second, r->centidegrees / 100.0);
}

static uint64_t export(const struct reading *readings, size_t count, char *buffer, size_t size)
{
    uint64_t sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (size - used < 64) {
            sum = sum * 31 + used + (unsigned char)buffer[used / 2];
            used = 0;
        }
        used += write_row(buffer + used, size - used, &readings[i]);
    }
    return sum * 31 + used + (unsigned char)buffer[used / 2];
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct reading *readings = calloc(count, sizeof *readings);
    uint32_t state = 67;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        readings[i] = (struct reading){i % 500, (uint32_t)(i / 500), (int32_t)(state >> 18) % 6500 - 2500};
    }
    char *buffer = malloc(1 << 16);
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++)
        sum = sum * 7 + export(readings, count, buffer, 1 << 16);
    printf("%016llx\n", (unsigned long long)sum);
    free(buffer);
    free(readings);
    return 0;
}
