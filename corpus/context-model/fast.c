/* The order-6 context model of a text compressor: predicts each byte from the six
 * before it and counts how often it is right. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_BITS 12

struct context {
    uint64_t last;      /* the newest byte is highest */
};

struct model {
    struct context context;
    uint8_t guess[1 << MODEL_BITS];
    unsigned long right;
};

static void push(struct context *c, uint8_t byte)
{
    c->last = c->last >> 8 | (uint64_t)byte << 56;
}

static uint32_t slot(const struct context *c)
{
    return (uint32_t)((c->last >> 16) * 0x9e3779b97f4a7c15u >> (64 - MODEL_BITS));
}

static void train(struct model *m, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t *guess = &m->guess[slot(&m->context)];
        m->right += *guess == text[i];
        *guess = text[i];
        push(&m->context, text[i]);
    }
}

int main(int argc, char **argv)
{
    int passes = argc > 1 ? atoi(argv[1]) : 100;
    static const char *const phrases[] = {
        "it is a truth universally acknowledged ", "that a single man in possession of a good fortune ",
        "must be in want of a wife ", "however little known the feelings of such a man may be ",
    };
    char text[8192], *at = text;
    uint32_t state = 1;
    while (at < text + sizeof text - 64) {
        state = state * 1664525 + 1013904223;
        at = stpcpy(at, phrases[state >> 30]);
    }
    struct model *model = calloc(1, sizeof *model);
    for (int p = 0; p < passes; p++)
        train(model, (const uint8_t *)text, (size_t)(at - text));
    printf("%lu right of %lu\n", model->right, (unsigned long)passes * (unsigned long)(at - text));
    free(model);
    return 0;
}
