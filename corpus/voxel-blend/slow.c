/* Blends two images of a few channels: grey, grey with alpha, colour, colour with alpha. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct image {
    int channels;
    size_t pixels;
    uint16_t *data;
};

struct layer {
    const struct image *image;
    const uint8_t *opacity; /* of each pixel */
};

/* Puts a layer over an image, pixel by pixel. */
static void blend(struct image *to, const struct layer *layer)
{
    const int channels = to->channels;
    for (size_t p = 0; p < to->pixels; p++) {
        uint16_t *pixel = to->data + p * (size_t)channels;
        const uint16_t *over = layer->image->data + p * (size_t)channels;
        const int opacity = layer->opacity[p];
        for (int c = 0; c < channels; c++)
            pixel[c] = (uint16_t)(pixel[c] + ((over[c] - pixel[c]) * opacity >> 8));
    }
}

static struct image make_image(int channels, size_t pixels, uint32_t state)
{
    struct image image = {channels, pixels, malloc(pixels * (size_t)channels * sizeof(uint16_t))};
    for (size_t i = 0; i < pixels * (size_t)channels; i++)
        image.data[i] = (uint16_t)((state = state * 1664525 + 1013904223) >> 18);
    return image;
}

int main(int argc, char **argv)
{
    size_t pixels = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    int channels = argc > 3 ? atoi(argv[3]) : 3;
    struct image page = make_image(channels, pixels, 101), stamp = make_image(channels, pixels, 7);
    uint8_t *opacity = malloc(pixels);
    for (size_t p = 0; p < pixels; p++)
        opacity[p] = (uint8_t)(p * 37 >> 3);
    struct layer layer = {&stamp, opacity};
    for (int p = 0; p < passes; p++) {
        blend(&page, &layer);
        page.data[(size_t)p % pixels] ^= 0x1fff;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels * (size_t)channels; i++)
        sum = sum * 31 + page.data[i];
    printf("%016llx\n", (unsigned long long)sum);
    free(opacity);
    free(stamp.data);
    free(page.data);
    return 0;
}
