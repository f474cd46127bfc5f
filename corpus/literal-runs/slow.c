/* Unpacks a log that was packed by matches: runs of literals and copies of a few bytes each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct step {
    uint8_t literals, match;
    uint16_t distance;
};

/* Writes what the steps say; the copy may reach into what it writes. */
static size_t unpack(uint8_t *to, const uint8_t *literals, const struct step *steps, size_t count)
{
    uint8_t *at = to;
    for (size_t s = 0; s < count; s++) {
        const size_t fresh = steps[s].literals;
        for (size_t i = 0; i < fresh; i++)
            at[i] = literals[i];
        at += fresh;
        literals += fresh;
        const uint8_t *from = at - steps[s].distance;
        const size_t length = steps[s].match;
        for (size_t i = 0; i < length; i++)
            at[i] = from[i];
        at += length;
    }
    return (size_t)(at - to);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct step *steps = calloc(count, sizeof *steps);
    uint8_t *literals = malloc(count * 4 + 64), *text = calloc(count * 12 + 64, 1);
    uint32_t state = 103;
    for (size_t i = 0; i < count * 4 + 64; i++)
        literals[i] = (uint8_t)('a' + i * 7 % 26);
    for (size_t i = 0, size = 64; i < count; i++) {
        state = state * 1664525 + 1013904223;
        steps[i] = (struct step){(uint8_t)(1 + i % 3), (uint8_t)(3 + i / 4 % 3), 0};
        size += steps[i].literals;
        steps[i].distance = (uint16_t)(1 + (state >> 8) % (size < 4000 ? size : 4000));
        size += steps[i].match;
    }
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++) {
        size_t size = unpack(text + 64, literals + p % 8, steps, count);
        sum = sum * 31 + text[(size_t)p * 7919 % size] + size;
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(text);
    free(literals);
    free(steps);
    return 0;
}
