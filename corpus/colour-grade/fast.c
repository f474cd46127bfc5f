/* Grades the shots of a film: lift, gain and gamma of each channel, then saturation, then 8 bits. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct grade {
    float lift[3], gain[3], gamma[3];
    float saturation;
};

struct frame {
    size_t width, height;
    float *pixels; /* red, green, blue; 0 to 1 */
};

struct shot {
    struct grade grade;
    int frames;
};

static float tone(float value, float lift, float gain, float gamma)
{
    value = value * gain + lift * (1 - value);
    if (value <= 0)
        return 0;
    return gamma == 1 ? value : powf(value, gamma);
}

static void grade_pixel(float *out, const float *in, const struct grade *g)
{
    for (int c = 0; c < 3; c++)
        out[c] = tone(in[c], g->lift[c], g->gain[c], g->gamma[c]);
    float grey = 0.2126f * out[0] + 0.7152f * out[1] + 0.0722f * out[2];
    for (int c = 0; c < 3; c++)
        out[c] = grey + (out[c] - grey) * g->saturation;
}

/* Error diffusion along the row keeps bands away. */
static void quantise_row(uint8_t *out, const float *in, size_t width)
{
    float carried[3] = {0, 0, 0};
    for (size_t x = 0; x < width; x++)
        for (int c = 0; c < 3; c++) {
            float wanted = in[3 * x + c] * 255 + carried[c];
            wanted = wanted < 0 ? 0 : wanted > 255 ? 255 : wanted;
            out[3 * x + c] = (uint8_t)(wanted + 0.5f);
            carried[c] = (wanted - out[3 * x + c]) * 0.9f;
        }
}

static uint64_t grade_frame(const struct frame *f, const struct grade *g, float *row, uint8_t *bytes)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < f->height; y++) {
        const float *in = f->pixels + 3 * f->width * y;
        for (size_t x = 0; x < f->width; x++)
            grade_pixel(row + 3 * x, in + 3 * x, g);
        quantise_row(bytes, row, f->width);
        for (size_t i = 0; i < 3 * f->width; i += 7)
            sum = sum * 31 + bytes[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct frame f = {argc > 1 ? strtoul(argv[1], 0, 10) : 320, argc > 2 ? strtoul(argv[2], 0, 10) : 180, 0};
    int shots = argc > 3 ? atoi(argv[3]) : 10;
    f.pixels = malloc(3 * f.width * f.height * sizeof *f.pixels);
    uint32_t state = 19;
    for (size_t i = 0; i < 3 * f.width * f.height; i++) {
        state = state * 1664525 + 1013904223;
        f.pixels[i] = (float)(state >> 8) / 16777216.0f;
    }
    float *row = malloc(3 * f.width * sizeof *row);
    uint8_t *bytes = malloc(3 * f.width);
    uint64_t sum = 0;
    for (int s = 0; s < shots; s++) {
        state = state * 1664525 + 1013904223;
        struct shot shot = {{{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 1 + (float)(state >> 28) / 60}, 2};
        for (int c = 0; c < 3; c++) {
            shot.grade.lift[c] = (float)(state >> (c * 4) & 15) / 600;
            shot.grade.gain[c] = 0.95f + (float)(state >> (c * 5 + 8) & 15) / 150;
        }
        if (s % 12 == 5)
            shot.grade.gamma[s % 3] = 0.9f;
        for (int i = 0; i < shot.frames; i++)
            sum = sum * 31 + grade_frame(&f, &shot.grade, row, bytes);
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(bytes);
    free(row);
    free(f.pixels);
    return 0;
}
