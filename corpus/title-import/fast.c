/* Takes a library's catalogue in Latin-1 into UTF-8 and files the titles by their words. */
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool {
    char *bytes;
    size_t used, room;
};

struct title {
    uint32_t at, length, words;
    uint16_t year, shelf;
};

struct catalogue {
    struct pool pool;
    struct title *titles;
    size_t count;
    uint32_t buckets[4096];
    iconv_t converter;
};

static uint32_t add_text(struct catalogue *c, const char *text, size_t length)
{
    if (c->pool.room - c->pool.used < length * 2) {
        c->pool.room = c->pool.room * 2 + length * 2;
        c->pool.bytes = realloc(c->pool.bytes, c->pool.room);
    }
    char *from = (char *)text, *to = c->pool.bytes + c->pool.used;
    unsigned char any = 0;
    for (size_t i = 0; i < length; i++)
        any |= (unsigned char)text[i];
    if (any < 128) {
        memcpy(to, text, length);
        c->pool.used += length;
        return (uint32_t)length;
    }
    size_t left = length, room = c->pool.room - c->pool.used;
    iconv(c->converter, &from, &left, &to, &room);
    size_t made = (size_t)(to - (c->pool.bytes + c->pool.used));
    c->pool.used += made;
    return (uint32_t)made;
}

static uint32_t file_words(struct catalogue *c, const unsigned char *text, size_t length)
{
    uint32_t words = 0, hash = 5381;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && text[i] != ' ') {
            hash = hash * 33 + (text[i] | 32);
        } else if (hash != 5381) {
            c->buckets[(hash ^ hash >> 15) & 4095]++;
            words++;
            hash = 5381;
        }
    }
    return words;
}

static void add_title(struct catalogue *c, const char *line, size_t length)
{
    struct title *t = &c->titles[c->count++];
    t->year = (uint16_t)((line[0] - '0') * 1000 + (line[1] - '0') * 100 + (line[2] - '0') * 10 + (line[3] - '0'));
    t->shelf = (uint16_t)(line[5] - 'A');
    t->at = (uint32_t)c->pool.used;
    t->length = add_text(c, line + 7, length - 7);
    t->words = file_words(c, (const unsigned char *)c->pool.bytes + t->at, t->length);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    static const char *words[] = {"The", "history", "of", "glass", "in", "Lund", "and", "on", "night", "trains", "caf\xE9", "Z\xFCrich"};
    char *text = malloc(count * 96), *end = text;
    uint32_t state = 53;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        end += sprintf(end, "%u %c", 1850 + (state >> 12) % 170, 'A' + (int)(state >> 27) % 20);
        for (uint32_t n = 3 + (state >> 20) % 4; n; n--) {
            state = state * 1664525 + 1013904223;
            end += sprintf(end, " %s", words[(state >> 16) % ((state >> 9) % 12 ? 10 : 12)]);
        }
        *end++ = '\n';
    }
    struct catalogue *c = calloc(1, sizeof *c);
    c->titles = calloc(count, sizeof *c->titles);
    c->converter = iconv_open("UTF-8", "ISO-8859-1");
    if (c->converter == (iconv_t)-1)
        return 1;
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++) {
        c->count = c->pool.used = 0;
        for (char *line = text; line < end;) {
            char *stop = memchr(line, '\n', (size_t)(end - line));
            add_title(c, line, (size_t)(stop - line));
            line = stop + 1;
        }
        for (size_t i = 0; i < c->count; i++)
            sum = sum * 31 + c->titles[i].length + c->titles[i].words * c->titles[i].year;
    }
    for (size_t i = 0; i < c->pool.used; i++)
        sum = sum * 31 + (unsigned char)c->pool.bytes[i];
    for (int i = 0; i < 4096; i++)
        sum = sum * 31 + c->buckets[i];
    printf("%016llx\n", (unsigned long long)sum);
    iconv_close(c->converter);
    free(c->pool.bytes);
    free(c->titles);
    free(c);
    free(text);
    return 0;
}
