/* The match finder of an LZ77 compressor: hash of four bytes, one candidate, longest
 * match; prints what the parse would cost. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_BITS 14

static uint32_t read32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static size_t match_length(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
    const uint8_t *start = b;
    while (b < end && *a == *b) {
        a++;
        b++;
    }
    return (size_t)(b - start);
}

struct parse {
    size_t literals, matches, matched;
};

static struct parse parse(const uint8_t *data, size_t size)
{
    static uint32_t last[1 << HASH_BITS];
    struct parse result = {0};
    const uint8_t *end = data + size, *at = data;
    memset(last, 0, sizeof last);
    while (at + 8 < end) {
        uint32_t hash = read32(at) * 2654435761u >> (32 - HASH_BITS);
        const uint8_t *candidate = data + last[hash];
        last[hash] = (uint32_t)(at - data);
        if (candidate < at && read32(candidate) == read32(at)) {
            size_t length = match_length(candidate, at, end);
            result.matches++;
            result.matched += length;
            at += length;
        } else {
            result.literals++;
            at++;
        }
    }
    return result;
}

/* Text of stock sentences with numbers in them: long repeats, as in logs. */
static size_t make_log(char *out, size_t size)
{
    static const char *const lines[] = {
        "2024-05-17T10:%02u:%02u INFO  [main-worker] com.example.service.RequestHandler: "
        "request finished with status 200 after %u ms, 0 retries, cache hit, no warnings\n",
        "2024-05-17T10:%02u:%02u DEBUG [connection-pool] com.example.database.Pool: handed out "
        "connection to primary database server db-01.internal, %u remain idle in the pool\n",
    };
    size_t used = 0;
    uint32_t state = 1;
    while (used + 256 < size) {
        state = state * 1664525 + 1013904223;
        used += (size_t)snprintf(out + used, size - used, lines[state >> 31], state >> 8 & 31,
                                 state >> 16 & 31, state >> 22 & 127);
    }
    return used;
}

int main(int argc, char **argv)
{
    size_t room = argc > 1 ? strtoul(argv[1], 0, 10) : 1 << 20;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    char *text = malloc(room);
    size_t size = make_log(text, room);
    struct parse sum = {0};
    for (int i = 0; i < passes; i++) {
        struct parse one = parse((const uint8_t *)text + i % 7, size - 7);
        sum.literals += one.literals;
        sum.matches += one.matches;
        sum.matched += one.matched;
    }
    printf("%zu literals, %zu matches of %zu bytes\n", sum.literals, sum.matches, sum.matched);
    free(text);
    return 0;
}
