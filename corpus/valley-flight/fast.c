/* Flies over a map of heights and draws what is seen, a column of the picture at a time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAP = 512 };

struct map {
    uint8_t height[MAP * MAP];
    uint32_t colour[MAP * MAP];
};

struct picture {
    int width, height; /* column by column, turned when it is shown */
    uint32_t *colour;
};

struct camera {
    float x, y, heading, above;
    int horizon;
};

static void draw_run(struct picture *p, int x, int top, int bottom, uint32_t colour)
{
    for (int y = top; y < bottom; y++)
        p->colour[x * p->height + y] = colour;
}

static uint32_t haze(uint32_t colour, float distance)
{
    uint32_t clear = distance < 224 ? 256 - (uint32_t)distance : 32;
    uint32_t both = colour & 0xFF00FF, middle = colour & 0x00FF00;
    return ((both * clear >> 8) & 0xFF00FF) | ((middle * clear >> 8) & 0x00FF00);
}

static void draw_column(struct picture *p, const struct map *map, const struct camera *c, int x)
{
    float turn = c->heading + ((float)x / (float)p->width - 0.5f);
    float step_x = cosf(turn), step_y = sinf(turn), reach = 2;
    int lowest = p->height;
    while (reach < 400 && lowest > 0) {
        int mx = (int)(c->x + step_x * reach) & (MAP - 1), my = (int)(c->y + step_y * reach) & (MAP - 1);
        size_t at = (size_t)my * MAP + (size_t)mx;
        int top = c->horizon + (int)((c->above - map->height[at]) * 160 / reach);
        if (top < 0)
            top = 0;
        if (top < lowest) {
            draw_run(p, x, top, lowest, haze(map->colour[at], reach));
            lowest = top;
        }
        reach += 1 + reach * 0.05f;
    }
    draw_run(p, x, 0, lowest, 0x6090C0);
}

static uint64_t digest(const struct picture *p)
{
    uint64_t sum = 0;
    for (int i = 0; i < p->width * p->height; i += 97)
        sum = sum * 31 + p->colour[i];
    return sum;
}

static struct map *make_map(void)
{
    struct map *map = malloc(sizeof *map);
    uint32_t state = 37;
    for (int y = 0; y < MAP; y++)
        for (int x = 0; x < MAP; x++) {
            state = state * 1664525 + 1013904223;
            float hill = sinf((float)x * 0.0491f) * cosf((float)y * 0.0368f) * 50 + 60;
            int at = y * MAP + x;
            map->height[at] = (uint8_t)(hill + (float)(state >> 30));
            map->colour[at] = hill < 50 ? 0x2050A0 : 0x306020 + (state >> 28) * 0x010301;
        }
    return map;
}

int main(int argc, char **argv)
{
    int frames = argc > 1 ? atoi(argv[1]) : 10;
    struct picture picture = {.width = argc > 2 ? atoi(argv[2]) : 320};
    picture.height = picture.width * 9 / 16;
    size_t pixels = (size_t)picture.width * (size_t)picture.height;
    picture.colour = calloc(pixels, sizeof *picture.colour);
    struct map *map = make_map();
    uint64_t sum = 0;
    for (int f = 0; f < frames; f++) {
        struct camera camera = {(float)f * 1.5f, (float)f * 0.7f, (float)f * 0.01f, 150, picture.height / 3};
        for (int x = 0; x < picture.width; x++)
            draw_column(&picture, map, &camera, x);
        sum = sum * 7 + digest(&picture);
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(picture.colour);
    free(map);
    return 0;
}
