/* Reads a file of stock quotes: symbol, time, bid, offer, volume; keeps a book of the last and the mean. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct quote {
    char symbol[8];
    uint32_t time, volume;
    double bid, offer;
};

struct line {
    char symbol[8];
    double last, weighted;
    uint64_t volume;
    uint32_t count, at;
};

struct book {
    struct line lines[1024];
    size_t used, refused;
};

static uint32_t whole_number(const char **at)
{
    uint32_t value = 0;
    while (**at >= '0' && **at <= '9')
        value = value * 10 + (uint32_t)(*(*at)++ - '0');
    return value;
}

static int comma(const char **at)
{
    return *(*at)++ == ',';
}

static double price(const char **at)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    const char *p = *at;
    int64_t digits = 0;
    int after = 0;
    while (*p >= '0' && *p <= '9' && p - *at < 12)
        digits = digits * 10 + (*p++ - '0');
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9' && after < 6; after++)
            digits = digits * 10 + (*p++ - '0');
    if (*p != ',') { /* an exponent, a sign, many digits */
        char *end;
        double value = strtod(*at, &end);
        *at = end;
        return value;
    }
    *at = p;
    return (double)digits / powers[after];
}

static int parse_quote(const char *at, struct quote *q)
{
    memset(q->symbol, 0, sizeof q->symbol);
    for (size_t n = 0; *at != ',' && n < sizeof q->symbol - 1; n++)
        q->symbol[n] = *at++;
    if (!comma(&at))
        return 0;
    q->time = whole_number(&at);
    if (!comma(&at))
        return 0;
    q->bid = price(&at);
    if (!comma(&at))
        return 0;
    q->offer = price(&at);
    if (!comma(&at))
        return 0;
    q->volume = whole_number(&at);
    return *at == '\n' && q->bid <= q->offer;
}

static struct line *find(struct book *book, const char *symbol)
{
    uint64_t key;
    memcpy(&key, symbol, sizeof key);
    size_t at = (key * 0x9E3779B97F4A7C15u) >> 54;
    while (book->lines[at].count && memcmp(book->lines[at].symbol, symbol, 8) != 0)
        at = (at + 1) % 1024;
    if (!book->lines[at].count) {
        memcpy(book->lines[at].symbol, symbol, 8);
        book->used++;
    }
    return &book->lines[at];
}

static void import(struct book *book, const char *text, const char *end)
{
    struct quote q;
    for (; text < end; text = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1) {
        if (!parse_quote(text, &q)) {
            book->refused++;
            continue;
        }
        struct line *line = find(book, q.symbol);
        line->last = (q.bid + q.offer) / 2;
        line->weighted += line->last * q.volume;
        line->volume += q.volume;
        line->at = q.time;
        line->count++;
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    char *text = malloc(count * 64), *to = text;
    uint32_t state = 29;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t cents = 100 + (state >> 6) % 900000;
        to += sprintf(to, "%c%c%c,%u,%u.%02u,%u.%02u,%u\n", 'A' + (state >> 28), 'A' + (state >> 24) % 8, 'A' + (state >> 21) % 4,
                      34200 + (uint32_t)i, cents / 100, cents % 100, (cents + 3) / 100, (cents + 3) % 100, (state >> 9) % 5000);
    }
    struct book *book = calloc(1, sizeof *book);
    for (int p = 0; p < passes; p++)
        import(book, text, to);
    double sum = 0;
    for (size_t i = 0; i < 1024; i++)
        if (book->lines[i].count)
            sum += book->lines[i].weighted / (double)book->lines[i].volume * (double)(i + 1) + book->lines[i].last;
    printf("%zu %zu %.9f\n", book->used, book->refused, sum);
    free(book);
    free(text);
    return 0;
}
