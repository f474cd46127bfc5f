/* Fades between two pictures: every pixel is a weighted mean of the two. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct picture {
    int width, height;
    uint8_t *pixels;
};

static struct picture picture_new(int width, int height, uint32_t seed)
{
    struct picture p = {width, height, malloc((size_t)width * height * 3)};
    for (int i = 0; i < width * height * 3; i++)
        p.pixels[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    return p;
}

void blend(const struct picture *a, const struct picture *b, int weight, struct picture *out)
{
    for (int i = 0; i < out->width * out->height * 3; i++)
        out->pixels[i] = (uint8_t)((a->pixels[i] * (256 - weight) + b->pixels[i] * weight) >> 8);
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
