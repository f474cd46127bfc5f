/* Mixes four audio buses into one, in blocks that fit the second-level cache; built to be vectorised. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 24576, BUSES = 4 };

static void mix(const float *restrict a, const float *restrict b, const float *restrict c,
                const float *restrict d, const float *restrict gain, float *restrict out)
{
    for (int i = 0; i < BLOCK; i++)
        out[i] = a[i] * gain[0] + b[i] * gain[1] + c[i] * gain[2] + d[i] * gain[3];
}

static float peak(const float *restrict x)
{
    float lanes[32] = {0};
    for (int i = 0; i < BLOCK; i += 32)
        for (int l = 0; l < 32; l++) {
            float v = x[i + l] * x[i + l];
            lanes[l] = v > lanes[l] ? v : lanes[l];
        }
    float most = 0;
    for (int l = 0; l < 32; l++)
        most = lanes[l] > most ? lanes[l] : most;
    return most;
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 10000;
    static _Alignas(64) float bus[BUSES][BLOCK], out[BLOCK];
    float gain[BUSES] = {0.7f, 0.5f, 0.3f, 0.2f};
    uint32_t state = 1;
    for (int s = 0; s < BUSES; s++)
        for (int i = 0; i < BLOCK; i++)
            bus[s][i] = (float)((state = state * 1664525 + 1013904223) >> 16) / 32768.0f - 1.0f;
    double sum = 0;
    for (int b = 0; b < blocks; b++) {
        gain[b & 3] += (b & 4) ? 0.0001f : -0.0001f;
        mix(bus[0], bus[1], bus[2], bus[3], gain, out);
        sum += peak(out);
    }
    printf("%.4f\n", sum);
    return 0;
}
