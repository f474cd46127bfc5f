#include "picture.h"

void blend(const struct picture *a, const struct picture *b, int weight, struct picture *out)
{
    const uint8_t *restrict from = a->pixels, *restrict to = b->pixels;
    uint8_t *restrict mixed = out->pixels;
    int n = out->width * out->height * 3;
    for (int i = 0; i < n; i++)
        mixed[i] = (uint8_t)((from[i] * (256 - weight) + to[i] * weight) >> 8);
}
