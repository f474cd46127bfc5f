/* Decodes run-length coded pictures, line by line, and maps their colours to shades for a small preview. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picture {
    int width, height;
    uint8_t *data, *end;
    uint8_t shade[256];
};

struct preview {
    int width, height;
    uint32_t *cell;
};

static uint32_t state = 41;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 9) % n;
}

static void draw_picture(struct picture *p, int width, int height)
{
    p->width = width;
    p->height = height;
    p->data = malloc((size_t)width * (size_t)height * 2);
    uint8_t *to = p->data;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width;) {
            int run = random_below(50) == 0 ? 20 + (int)random_below(100) : 1 + (int)random_below(6);
            if (run > width - x)
                run = width - x;
            uint8_t colour = (uint8_t)(random_below(160) + (uint32_t)y % 16);
            if (run > 63) {
                *to++ = 0xC0;
                *to++ = (uint8_t)run;
                *to++ = (uint8_t)(run >> 8);
            } else if (run > 1 || colour >= 0xC0)
                *to++ = (uint8_t)(0xC0 | run);
            *to++ = colour;
            x += run;
        }
    p->end = to;
    for (int i = 0; i < 256; i++)
        p->shade[i] = (uint8_t)(255 - i * i / 255);
}

static const uint8_t *decode_line(const uint8_t *from, uint8_t *line, int width)
{
    for (int x = 0; x < width;) {
        int run = 1;
        uint8_t byte = *from++;
        if (byte >= 0xC0) {
            run = byte & 0x3F;
            if (run == 0) {
                run = from[0] | from[1] << 8;
                from += 2;
            }
            byte = *from++;
        }
        if (run > width - x)
            run = width - x;
        if (run <= 8) {
            uint64_t eight = byte * 0x0101010101010101u;
            memcpy(line + x, &eight, sizeof eight);
        } else
            memset(line + x, byte, (size_t)run);
        x += run;
    }
    return from;
}

static void add_line(struct preview *preview, int row, const uint8_t *line, const uint8_t *shade)
{
    uint32_t *cell = preview->cell + (size_t)row * (size_t)preview->width;
    for (int x = 0; x < preview->width; x++) {
        uint32_t sum = 0;
        for (int i = 0; i < 4; i++)
            sum += shade[line[x * 4 + i]];
        cell[x] += sum;
    }
}

static void make_preview(const struct picture *p, struct preview *preview)
{
    uint8_t *line = malloc((size_t)p->width + 8);
    memset(preview->cell, 0, sizeof *preview->cell * (size_t)preview->width * (size_t)preview->height);
    const uint8_t *from = p->data;
    for (int y = 0; y < p->height; y++) {
        from = decode_line(from, line, p->width);
        add_line(preview, y / 4, line, p->shade);
    }
    free(line);
}

int main(int argc, char **argv)
{
    int pictures = argc > 1 ? atoi(argv[1]) : 4;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct picture *p = calloc((size_t)pictures, sizeof *p);
    for (int i = 0; i < pictures; i++)
        draw_picture(&p[i], 640, 480);
    struct preview preview = {160, 120, calloc(160 * 120, sizeof(uint32_t))};
    uint64_t digest = 0;
    for (int pass = 0; pass < passes; pass++)
        for (int i = 0; i < pictures; i++) {
            make_preview(&p[i], &preview);
            for (int c = 0; c < 160 * 120; c += 7)
                digest = digest * 1099511628211u + preview.cell[c];
        }
    printf("%d previews, %016llx\n", pictures * passes, (unsigned long long)digest);
    for (int i = 0; i < pictures; i++)
        free(p[i].data);
    free(p);
    free(preview.cell);
    return 0;
}
