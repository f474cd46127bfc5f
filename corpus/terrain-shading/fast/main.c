/* Draws the shaded relief of a map that is kept packed, a band of tiles at a time. */
#include "terrain.h"

#include <stdio.h>
#include <stdlib.h>

struct light {
    int east, north, base;
};

static unsigned shade(struct terrain *t, const struct light *light, uint32_t x, uint32_t y)
{
    int slope_x = terrain_height(t, x + 1, y) - terrain_height(t, x - 1, y);
    int slope_y = terrain_height(t, x, y + 1) - terrain_height(t, x, y - 1);
    int value = light->base + ((slope_x * light->east + slope_y * light->north) >> 4);
    return value < 0 ? 0 : value > 255 ? 255 : (unsigned)value;
}

static void draw_row(struct terrain *t, const struct light *light, uint32_t y, unsigned char *row, uint32_t width)
{
    for (uint32_t x = 1; x + 1 < width; x++)
        row[x] = (unsigned char)shade(t, light, x, y);
}

static unsigned char *pack(uint32_t seed)
{
    unsigned char *bytes = malloc(TILE * TILE * 3), *to = bytes;
    for (int i = 0; i < TILE * TILE; i++) {
        seed = seed * 1664525 + 1013904223;
        if (seed >> 24 == 0) {
            *to++ = 255;
            *to++ = 2;
            *to++ = (unsigned char)(seed >> 12);
        } else {
            *to++ = (unsigned char)((seed >> 20) % 40);
        }
    }
    return bytes;
}

int main(int argc, char **argv)
{
    uint32_t wide = 12, high = argc > 1 ? (uint32_t)atoi(argv[1]) : 4;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    const unsigned char **packed = calloc((size_t)wide * high, sizeof *packed);
    for (uint32_t i = 0; i < wide * high; i++)
        packed[i] = pack(i * 7 + 3);
    struct terrain *t = malloc(sizeof *t);
    uint32_t width = wide * TILE;
    unsigned char *row = calloc(width, 1);
    uint64_t sum = 0;
    terrain_open(t, wide, high, packed);
    for (int p = 0; p < passes; p++) {
        struct light light = {1 + p % 5, 3 - p % 4, 120};
        for (uint32_t y = 1; y + 1 < high * TILE; y++) {
            draw_row(t, &light, y, row, width);
            for (uint32_t x = 0; x < width; x += 16)
                sum = sum * 31 + row[x];
        }
    }
    printf("%llu %016llx\n", (unsigned long long)t->loads, (unsigned long long)sum);
    free(row);
    free(t);
    return 0;
}
