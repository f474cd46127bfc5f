/* A video pipeline: each frame is decoded into a buffer and measured. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLANES 3

struct frame {
    size_t width, height;
    uint8_t *data;
};

static struct frame frame_new(size_t width, size_t height)
{
    struct frame f = {width, height, malloc(width * height * PLANES)};
    if (!f.data)
        abort();
    return f;
}

static void frame_free(struct frame *f)
{
    free(f->data);
    f->data = NULL;
}

/* A moving pattern stands for the decoder: rows repeat with a shift. */
static void decode(struct frame *f, unsigned number, const uint8_t *pattern)
{
    for (size_t y = 0; y < f->height * PLANES; y++)
        memcpy(f->data + y * f->width, pattern + (y * 7 + number * 13) % 4096, f->width);
}

static uint64_t measure(const struct frame *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->width * f->height * PLANES; i += 64)
        sum += f->data[i];
    return sum;
}

static uint64_t process(unsigned number, size_t width, size_t height, const uint8_t *pattern)
{
    struct frame frame = frame_new(width, height);
    decode(&frame, number, pattern);
    uint64_t sum = measure(&frame);
    frame_free(&frame);
    return sum;
}

int main(int argc, char **argv)
{
    unsigned frames = argc > 1 ? atoi(argv[1]) : 10;
    size_t width = argc > 2 ? strtoul(argv[2], 0, 10) : 5120, height = width * 9 / 16;
    uint8_t *pattern = malloc(4096 + width);
    uint32_t state = 1;
    for (size_t i = 0; i < 4096 + width; i++)
        pattern[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
    uint64_t sum = 0;
    for (unsigned i = 0; i < frames; i++)
        sum = sum * 33 + process(i, width, height, pattern);
    printf("%016llx\n", (unsigned long long)sum);
    free(pattern);
    return 0;
}
