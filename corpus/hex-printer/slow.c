/* Prints a capture's records as a hex dump: offset, sixteen bytes, their characters. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t used, room;
};

struct capture {
    uint8_t *bytes;
    size_t length;
    size_t *starts;
    size_t records;
};

__attribute__((noinline)) static void grow(struct text *t)
{
    t->room = t->room ? 2 * t->room : 256;
    t->bytes = realloc(t->bytes, t->room);
    if (!t->bytes)
        abort();
}

static inline void put(struct text *t, char c)
{
    if (t->used == t->room)
        grow(t);
    t->bytes[t->used++] = c;
}

static void put_text(struct text *t, const char *s)
{
    while (*s)
        put(t, *s++);
}

static void put_line(struct text *t, const uint8_t *bytes, size_t count, uint32_t offset)
{
    static const char digits[] = "0123456789abcdef";
    for (int shift = 28; shift >= 0; shift -= 4)
        put(t, digits[offset >> shift & 15]);
    put(t, ' ');
    for (size_t i = 0; i < 16; i++) {
        put(t, ' ');
        put(t, i < count ? digits[bytes[i] >> 4] : ' ');
        put(t, i < count ? digits[bytes[i] & 15] : ' ');
    }
    put(t, ' ');
    put(t, '|');
    for (size_t i = 0; i < count; i++)
        put(t, bytes[i] >= 32 && bytes[i] < 127 ? (char)bytes[i] : '.');
    put(t, '|');
    put(t, '\n');
}

static void put_record(struct text *t, const struct capture *c, size_t record)
{
    size_t at = c->starts[record], end = c->starts[record + 1];
    put_text(t, "record of ");
    char number[24];
    snprintf(number, sizeof number, "%zu bytes\n", end - at);
    put_text(t, number);
    for (uint32_t offset = 0; at < end; at += 16, offset += 16)
        put_line(t, c->bytes + at, end - at < 16 ? end - at : 16, offset);
}

static uint64_t digest(uint64_t h, const char *bytes, size_t length)
{
    uint64_t word;
    for (; length >= 8; length -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    while (length--)
        h = h * 31 + (unsigned char)*bytes++;
    return h;
}

int main(int argc, char **argv)
{
    struct capture c = {.records = argc > 1 ? strtoul(argv[1], 0, 10) : 100};
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    c.starts = calloc(c.records + 1, sizeof *c.starts);
    uint32_t state = 13;
    for (size_t i = 0; i < c.records; i++) {
        state = state * 1664525 + 1013904223;
        c.starts[i + 1] = c.starts[i] + 40 + (state >> 22);
    }
    c.length = c.starts[c.records];
    c.bytes = malloc(c.length);
    for (size_t i = 0; i < c.length; i++) {
        state = state * 1664525 + 1013904223;
        c.bytes[i] = (uint8_t)(state >> 9 & 1 ? state >> 24 : 'a' + (state >> 24) % 26);
    }
    struct text t = {0};
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < c.records; i++) {
            t.used = 0;
            put_record(&t, &c, i);
            sum = digest(sum, t.bytes, t.used);
        }
    printf("%016llx\n", (unsigned long long)sum);
    free(t.bytes);
    return 0;
}
