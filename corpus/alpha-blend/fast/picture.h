#ifndef PICTURE_H
#define PICTURE_H
#include <stdint.h>

struct picture {
    int width, height;
    uint8_t *pixels;
};

void blend(const struct picture *a, const struct picture *b, int weight, struct picture *out);
#endif
