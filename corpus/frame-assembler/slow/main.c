/* Gathers short readings of many stations into frames and writes them out in order. */
#include "frame.h"

#include <stdio.h>
#include <stdlib.h>

struct reading {
    uint32_t station, at;
    int16_t levels[6];
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct reading *readings = calloc(count, sizeof *readings);
    uint32_t state = 23;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        readings[i].station = (uint32_t)(i / 4) * 7 + (state >> 31);
        readings[i].at = (uint32_t)i * 10;
        for (int k = 0; k < 6; k++)
            readings[i].levels[k] = (int16_t)(state >> (k + 8));
    }
    struct frame *frame = calloc(1, sizeof *frame);
    unsigned char *wire = malloc(sizeof *frame + 64);
    uint64_t sum = 0, bytes = 0;
    for (int p = 0; p < passes; p++) {
        uint32_t sequence = 0;
        for (size_t i = 0; i < count;) {
            uint32_t station = readings[i].station;
            frame_start(frame, station, (uint32_t)p, sequence++);
            frame_extend(frame, 3, readings[i].at);
            do
                frame_append(frame, readings[i].levels, sizeof readings[i].levels);
            while (++i < count && readings[i].station == station);
            size_t length = frame_write(frame, wire);
            bytes += length;
            sum = sum * 31 + ((uint64_t)wire[length - 4] << 24 | wire[length - 3] << 16 | wire[length - 2] << 8 | wire[length - 1]);
        }
    }
    printf("%llu bytes %016llx\n", (unsigned long long)bytes, (unsigned long long)sum);
    free(wire);
    free(frame);
    free(readings);
    return 0;
}
