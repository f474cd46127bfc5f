#include "voice.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 512, VOICES = 16 };

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 100;
    static int32_t samples[2 * FRAMES];
    struct voice voices[VOICES];
    for (uint32_t v = 0; v < VOICES; v++)
        voices[v] = (struct voice){.step = 9000000 + v * 777777, .volume = (int32_t)(100 + v), .wave = v % 8 ? SAW : TRIANGLE,
                                   .left = 1, .right = 1};
    struct mixer mixer = {samples, FRAMES, voices, VOICES};
    uint32_t sum = 0;
    for (int b = 0; b < blocks; b++) {
        memset(samples, 0, sizeof samples);
        voices[b % VOICES].volume = 40 + b % 200;
        mix(&mixer);
        sum = sum * 31 + (uint32_t)samples[b % (2 * FRAMES)];
    }
    printf("%08x\n", sum);
}
