/* Writes readings as fixed-width records through a checked output stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { BINARY, ESCAPED };

struct stream {
    unsigned char *buffer;
    size_t used, size;
    enum mode mode;
    int closed, failed;
    uint64_t written, digest;
};

struct reading {
    uint32_t station, minute;
    uint16_t kind;
    int32_t value;
    uint8_t quality;
};

static __attribute__((noinline)) void drain(struct stream *s)
{
    for (size_t i = 0; i < s->used; i += 97)
        s->digest = s->digest * 31 + s->buffer[i];
    s->written += s->used;
    s->used = 0;
}

static inline void put(struct stream *s, unsigned char byte)
{
    if (s->closed || s->failed)
        return;
    if (s->used == s->size)
        drain(s);
    if (s->mode == ESCAPED && (byte == 0x7d || byte == 0x7e)) {
        s->buffer[s->used++] = 0x7d;
        byte ^= 0x20;
        if (s->used == s->size)
            drain(s);
    }
    s->buffer[s->used++] = byte;
}

/* Writes a number as so many bytes, lowest first. */
static void put_number(struct stream *s, uint64_t value, int width)
{
    for (int i = 0; i < width; i++)
        put(s, (unsigned char)(value >> (8 * i)));
}

static void put_reading(struct stream *s, const struct reading *r)
{
    put_number(s, r->station, 4);
    put_number(s, r->minute, 4);
    put_number(s, r->kind, 2);
    put_number(s, (uint32_t)r->value, 4);
    put_number(s, r->quality, 1);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct reading *readings = calloc(count, sizeof *readings);
    uint32_t state = 43;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        readings[i] = (struct reading){state >> 18, (uint32_t)i, state >> 28, (int32_t)(state >> 7) - 9999, i & 3};
    }
    struct stream s = {.size = 1 << 15, .mode = passes > 0 ? BINARY : ESCAPED};
    s.buffer = malloc(s.size);
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < count; i++)
            put_reading(&s, &readings[i]);
    drain(&s);
    printf("%llu bytes, %016llx\n", (unsigned long long)s.written, (unsigned long long)s.digest);
    free(s.buffer);
    free(readings);
    return 0;
}
