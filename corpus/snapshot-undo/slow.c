/* An editor's undo: before each change the line is kept, and now and then put back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 2048, KEPT = 8 };

struct line {
    char text[WIDTH];
    char kept[KEPT][WIDTH];
    int newest;
};

static void keep(struct line *l)
{
    l->newest = (l->newest + 1) % KEPT;
    memcpy(l->kept[l->newest], l->text, WIDTH);
}

static void undo(struct line *l)
{
    memcpy(l->text, l->kept[l->newest], WIDTH);
    l->newest = (l->newest + KEPT - 1) % KEPT;
}

static unsigned char letter_for[256];

/* Enciphers the letters between two places. */
static void encipher(struct line *l, int from, int to)
{
    keep(l);
    for (int i = from; i <= to; i++)
        l->text[i] = (char)letter_for[(unsigned char)l->text[i]];
}

int main(int argc, char **argv)
{
    size_t changes = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    struct line *l = calloc(1, sizeof *l);
    for (int i = 0; i < WIDTH; i++)
        l->text[i] = (char)('a' + i * 7 % 26);
    for (int i = 0; i < 256; i++)
        letter_for[i] = (unsigned char)(i * 77 + 5);
    uint32_t state = 37;
    uint64_t sum = 0;
    for (size_t c = 0; c < changes; c++) {
        state = state * 1664525 + 1013904223;
        int from = (int)(state >> 21) % 1024;
        encipher(l, from, from + 400 + (int)(state >> 12 & 511));
        if (state % 7 == 0)
            undo(l);
        sum = sum * 31 + (unsigned char)l->text[state >> 22];
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(l);
    return 0;
}
