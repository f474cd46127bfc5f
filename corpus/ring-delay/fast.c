/* An echo effect: several taps read a delay line kept in a ring buffer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TAPS 4

struct delay {
    int32_t *line;
    uint32_t length;            /* samples in the ring, set by the sampling rate */
    uint32_t head;
    uint32_t tap[TAPS];
    int32_t gain[TAPS];         /* 1/256 */
};

static void process(struct delay *d, const int16_t *in, int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t wet = 0;
        for (int t = 0; t < TAPS; t++) {
            uint32_t at = d->head + d->length - d->tap[t];
            if (at >= d->length)
                at -= d->length;
            wet += d->line[at] * d->gain[t] >> 8;
        }
        int32_t sample = in[i] + (wet >> 1);
        if (sample > 32767)
            sample = 32767;
        if (sample < -32768)
            sample = -32768;
        d->line[d->head] = sample;
        if (++d->head == d->length)
            d->head = 0;
        out[i] = (int16_t)sample;
    }
}

int main(int argc, char **argv)
{
    struct delay d = {.length = argc > 1 ? atoi(argv[1]) : 4410};
    int blocks = argc > 2 ? atoi(argv[2]) : 1000;
    enum { BLOCK = 1024 };
    int16_t in[BLOCK], out[BLOCK];
    uint32_t state = 12345;
    uint64_t sum = 0;

    d.line = calloc(d.length, sizeof *d.line);
    for (int t = 0; t < TAPS; t++) {
        d.tap[t] = d.length * (t + 3) / (TAPS + 4);
        d.gain[t] = 200 >> t;
    }
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < BLOCK; i++) {
            state = state * 1664525 + 1013904223;
            in[i] = (int16_t)(state >> 18) - 8192;
        }
        process(&d, in, out, BLOCK);
        sum = sum * 33 + (uint16_t)out[b % BLOCK];
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(d.line);
    return 0;
}
