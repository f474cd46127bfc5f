#include "picture.h"

void blend(const struct picture *a, const struct picture *b, int weight, struct picture *out)
{
    for (int i = 0; i < out->width * out->height * 3; i++)
        out->pixels[i] = (uint8_t)((a->pixels[i] * (256 - weight) + b->pixels[i] * weight) >> 8);
}
