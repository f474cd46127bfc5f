/* Fades between two pictures: every pixel is a weighted mean of the two. */
#include <stdio.h>
#include <stdlib.h>

#include "picture.h"

static struct picture picture_new(int width, int height, uint32_t seed)
{
    struct picture p = {width, height, malloc((size_t)width * height * 3)};
    for (int i = 0; i < width * height * 3; i++)
        p.pixels[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    return p;
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 320, height = width * 3 / 4;
    int frames = argc > 2 ? atoi(argv[2]) : 100;
    struct picture a = picture_new(width, height, 1), b = picture_new(width, height, 2);
    struct picture *out = malloc(sizeof *out);
    *out = picture_new(width, height, 3);
    uint64_t digest = 0;
    for (int f = 0; f < frames; f++) {
        blend(&a, &b, f * 256 / frames, out);
        digest = digest * 31 + out->pixels[f * 7919 % (width * height * 3)];
    }
    printf("%016llx\n", (unsigned long long)digest);
    free(out->pixels);
    free(out);
    free(a.pixels);
    free(b.pixels);
    return 0;
}
