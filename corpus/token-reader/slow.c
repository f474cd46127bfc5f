/* A tokeniser over packed source text: blocks are unpacked when the one before is used up. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, PAIRS = 128 };

struct source {
    const unsigned char *packed, *end;
    unsigned char pairs[PAIRS][2]; /* what a byte from 128 on stands for */
};

struct reader {
    struct source *source;
    unsigned char block[2 * BLOCK];
    size_t at, used;
    uint64_t line, blocks, longest_line, line_start;
};

/* The next byte, or -1 at the end of the source. */
static __attribute__((noinline)) int next_byte(struct reader *r)
{
    if (r->at == r->used) {
        struct source *s = r->source;
        unsigned char staged[BLOCK];
        size_t take = (size_t)(s->end - s->packed) < BLOCK ? (size_t)(s->end - s->packed) : BLOCK;
        if (take == 0)
            return -1;
        memcpy(staged, s->packed, take);
        s->packed += take;
        r->used = r->at = 0;
        for (size_t i = 0; i < take; i++) {
            unsigned char code = staged[i];
            if (code < 128) {
                r->block[r->used++] = code;
            } else {
                memcpy(r->block + r->used, s->pairs[code - 128], 2);
                r->used += 2;
            }
        }
        for (size_t i = 0; i < r->used; i++)
            if (r->block[i] == '\n') {
                uint64_t here = r->blocks * BLOCK + i;
                if (here - r->line_start > r->longest_line)
                    r->longest_line = here - r->line_start;
                r->line_start = here;
                r->line++;
            }
        r->blocks++;
    }
    return r->block[r->at++];
}

static unsigned char word_letter[257]; /* [c + 1]: whether c belongs to a word */

static int is_word(int c)
{
    return word_letter[c + 1];
}

/* Reads words, numbers and signs; returns a digest of the tokens. */
static uint64_t tokens(struct reader *r, uint64_t *count)
{
    uint64_t digest = 0;
    int c = next_byte(r);
    while (c >= 0) {
        uint64_t token = 0;
        while (c == ' ' || c == '\n')
            c = next_byte(r);
        if (is_word(c))
            for (; is_word(c); c = next_byte(r))
                token = (token << 5) + (uint64_t)c;
        else if (c >= 0)
            token = (uint64_t)c, c = next_byte(r);
        digest = digest * 31 + token;
        ++*count;
    }
    return digest;
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], 0, 10) : 1 << 18;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    static const char text[] = "invariant_of_the_outermost_loop = previous_measurement_of_station + correction_by_altitude;\n";
    for (int c = 0; c < 256; c++)
        word_letter[c + 1] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    unsigned char *packed = malloc(size);
    struct source source = {.pairs = {{0}}};
    for (int i = 0; i < PAIRS; i++)
        source.pairs[i][0] = 'a' + i % 26, source.pairs[i][1] = i % 5 ? 'a' + i % 7 : ' ';
    for (size_t i = 0, at = 0; i < size; i++)
        packed[i] = i % 11 == 3 ? (unsigned char)(128 + i * 7 % PAIRS) : (unsigned char)text[at++ % (sizeof text - 1)];
    struct reader *reader = malloc(sizeof *reader);
    uint64_t digest = 0, count = 0;
    for (int p = 0; p < passes; p++) {
        source.packed = packed;
        source.end = packed + size;
        memset(reader, 0, sizeof *reader);
        reader->source = &source;
        digest = digest * 17 + tokens(reader, &count);
    }
    printf("%llu tokens, %016llx\n", (unsigned long long)count, (unsigned long long)digest);
    free(reader);
    free(packed);
    return 0;
}
