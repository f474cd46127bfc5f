/* A second-order recursive low-pass filter (a biquad) over a signal; each output
 * needs the two before it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct biquad {
    float b0, b1, b2, a1, a2;
    float z1, z2;
};

static void filter(struct biquad *f, const float *in, float *out, size_t n)
{
    float z1 = f->z1, z2 = f->z2;
    for (size_t i = 0; i < n; i++) {
        float y = f->b0 * in[i] + z1;
        z1 = f->b1 * in[i] - f->a1 * y + z2;
        z2 = f->b2 * in[i] - f->a2 * y;
        out[i] = y;
    }
    f->z1 = z1;
    f->z2 = z2;
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 1000;
    enum { BLOCK = 2048 };
    static float in[BLOCK], out[BLOCK];
    struct biquad f = {0.0675f, 0.1349f, 0.0675f, -1.1430f, 0.4128f, 0, 0};
    uint32_t state = 1;
    double energy = 0;
    for (int i = 0; i < BLOCK; i++)
        in[i] = (float)((state = state * 1664525 + 1013904223) >> 16) / 65536.0f - 0.5f;
    for (int b = 0; b < blocks; b++) {
        in[b % BLOCK] = 0.25f;
        filter(&f, in, out, BLOCK);
        energy += out[b % BLOCK] * out[b % BLOCK];
    }
    printf("%.6f\n", energy);
    return 0;
}
