/* Follows the links of a graph of pages, with each step checked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct web {
    const uint32_t *next, *number;
    uint32_t count;
    int closed, paused;
};

/* The page after so many steps; stops where a link leads out of the web. */
static uint32_t walk(volatile struct web *w, uint32_t from, size_t steps, uint64_t *seen)
{
    uint32_t at = from;
    for (size_t s = 0; s < steps; s++) {
        if (w->closed || w->paused)
            break;
        if (at >= w->count)
            break;
        *seen += w->number[at] & 1;
        at = w->next[at];
    }
    return w->number[at];
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], 0, 10) : 10000;
    size_t steps = argc > 2 ? strtoul(argv[2], 0, 10) : 100000;
    uint32_t *next = malloc(count * sizeof *next), state = 17;
    for (uint32_t i = 0; i < count; i++)
        next[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        state = state * 1664525 + 1013904223;
        uint32_t j = (uint32_t)((uint64_t)state * i >> 32), keep = next[i];
        next[i] = next[j];
        next[j] = keep;
    }
    /* Pages lie in the order in which links lead to them, with their number beside. */
    uint32_t *number = malloc(count * sizeof *number);
    for (uint32_t i = 0, page = 0; i < count; i++, page = next[page])
        number[i] = page;
    for (uint32_t i = 0; i < count; i++)
        next[i] = i + 1 < count ? i + 1 : 0;
    struct web web = {next, number, count, 0, 0};
    uint64_t seen = 0;
    uint32_t last = walk(&web, 0, steps, &seen);
    printf("%u, %llu\n", last, (unsigned long long)seen);
    free(number);
    free(next);
    return 0;
}
