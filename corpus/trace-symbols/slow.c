/* Turns a profiler's samples (an address and its caller) into a table of functions and calls. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
    uint64_t start, size;
    uint32_t file, first_line;
};

struct sample {
    uint64_t address, caller;
};

struct image {
    struct symbol *symbols;
    size_t count;
    uint64_t base;
};

struct call {
    uint32_t from, to, count;
};

struct profile {
    uint32_t *self;
    uint32_t lines[4096];
    struct call *calls;
    uint32_t mask;
    size_t unknown;
};

/* The symbol that covers an address, or NULL. */
static const struct symbol *symbol_at(const struct image *image, uint64_t address)
{
    uint64_t offset = address - image->base;
    size_t low = 0, high = image->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->symbols[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct symbol *s = &image->symbols[low - 1];
    return offset - s->start < s->size ? s : NULL;
}

static void count_call(struct profile *p, uint32_t from, uint32_t to)
{
    uint32_t slot = (from * 2654435761u ^ to * 2246822519u) >> 7 & p->mask;
    while (p->calls[slot].count && (p->calls[slot].from != from || p->calls[slot].to != to))
        slot = (slot + 1) & p->mask;
    p->calls[slot].from = from;
    p->calls[slot].to = to;
    p->calls[slot].count++;
}

/* Debuggers' line numbers grow by a byte code: a line for each 3 to 6 bytes of code. */
static uint32_t line_of(const struct symbol *s, uint64_t offset)
{
    uint32_t line = s->first_line;
    for (uint64_t at = s->start, step = 3; at + step <= offset; at += step, step = step == 6 ? 3 : step + 1)
        line++;
    return line;
}

static void add_sample(struct profile *p, const struct image *image, const struct sample *s)
{
    const struct symbol *function = symbol_at(image, s->address);
    if (!function) {
        p->unknown++;
        return;
    }
    uint32_t index = (uint32_t)(function - image->symbols);
    p->self[index]++;
    p->lines[(function->file * 331 + line_of(function, s->address - image->base)) & 4095]++;
    count_call(p, (uint32_t)(s->caller >> 4), index);
}

int main(int argc, char **argv)
{
    size_t functions = argc > 1 ? strtoul(argv[1], 0, 10) : 5000;
    size_t count = argc > 2 ? strtoul(argv[2], 0, 10) : 100000;
    int passes = argc > 3 ? atoi(argv[3]) : 10;
    struct image image = {calloc(functions, sizeof(struct symbol)), functions, 0x400000};
    uint32_t state = 21;
    uint64_t at = 0;
    for (size_t i = 0; i < functions; i++) {
        state = state * 1664525 + 1013904223;
        image.symbols[i] = (struct symbol){at, 32 + (state >> 25), state >> 16 & 63, state >> 20};
        at += 32 + (state >> 25) + (state >> 9 & 15);
    }
    struct sample *samples = calloc(count, sizeof *samples);
    const struct symbol *now = image.symbols;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        if ((state >> 24) % 14 == 0)
            now = &image.symbols[(state >> 5) % functions];
        samples[i].address = image.base + now->start + (state >> 10) % now->size;
        samples[i].caller = (now->start * 7 + (state >> 30)) % at & ~15ull;
    }
    struct profile *p = calloc(1, sizeof *p);
    p->self = calloc(functions, sizeof *p->self);
    p->mask = (1 << 18) - 1;
    p->calls = calloc(p->mask + 1, sizeof *p->calls);
    for (int i = 0; i < passes; i++)
        for (size_t k = 0; k < count; k++)
            add_sample(p, &image, &samples[k]);
    uint64_t sum = p->unknown;
    for (size_t i = 0; i < functions; i++)
        sum = sum * 31 + p->self[i];
    for (size_t i = 0; i < 4096; i++)
        sum = sum * 31 + p->lines[i];
    for (size_t i = 0; i <= p->mask; i++)
        sum += p->calls[i].count * (uint64_t)(p->calls[i].from ^ p->calls[i].to);
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
