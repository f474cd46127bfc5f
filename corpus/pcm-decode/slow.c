/* Decodes 16-bit samples into floating point with a gain for each channel;
 * built for size, as much embedded software is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 1024 };

static void decode(const int16_t *in, const double *gain, double *left, double *right)
{
    for (int i = 0; i < FRAMES; i++) {
        left[i] = in[2 * i] * gain[0];
        right[i] = in[2 * i + 1] * gain[1];
    }
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 1000;
    static int16_t in[2 * FRAMES];
    static double left[FRAMES], right[FRAMES];
    double gain[2] = {1.0 / 32768, 0.8 / 32768}, sum = 0;
    uint32_t state = 1;
    for (int i = 0; i < 2 * FRAMES; i++)
        in[i] = (int16_t)((state = state * 1664525 + 1013904223) >> 16);
    for (int b = 0; b < blocks; b++) {
        in[b % FRAMES]++;
        decode(in, gain, left, right);
        sum += left[b % FRAMES] + right[b * 7 % FRAMES];
    }
    printf("%.9f\n", sum);
    return 0;
}
