/* Scans a configuration of regular structure: a branchy recursive parser whose branches
 * follow a pattern that repeats. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    const char *at;
    unsigned long strings, numbers, objects;
    uint64_t digest;
};

static bool value(struct scan *s);

static void blanks(struct scan *s)
{
    while (*s->at == ' ' || *s->at == '\n')
        s->at++;
}

static bool string(struct scan *s)
{
    const char *start = ++s->at;
    while (*s->at != '"') {
        if (*s->at == '\\')
            s->at++;
        if (*s->at == 0)
            return false;
        s->at++;
    }
    s->digest += (uint64_t)(s->at - start) * 7;
    s->at++;
    s->strings++;
    return true;
}

static bool number(struct scan *s)
{
    long v = 0;
    while (*s->at >= '0' && *s->at <= '9')
        v = v * 10 + (*s->at++ - '0');
    s->digest ^= (uint64_t)v << (s->numbers & 31);
    s->numbers++;
    return true;
}

static bool object(struct scan *s)
{
    s->at++;
    s->objects++;
    for (;;) {
        blanks(s);
        if (*s->at == '}')
            break;
        if (*s->at != '"' || !string(s) || *s->at++ != ':')
            return false;
        blanks(s);
        if (!value(s))
            return false;
        if (*s->at == ',')
            s->at++;
    }
    s->at++;
    return true;
}

static bool value(struct scan *s)
{
    switch (*s->at) {
    case '{': return object(s);
    case '"': return string(s);
    default: return *s->at >= '0' && *s->at <= '9' && number(s);
    }
}

int main(int argc, char **argv)
{
    int entries = argc > 1 ? atoi(argv[1]) : 10, passes = argc > 2 ? atoi(argv[2]) : 1000;
    char *text = malloc((size_t)entries * 80 + 8), *at = text;
    at += sprintf(at, "{");
    for (int i = 0; i < entries; i++)
        at += sprintf(at, "\"k%d\": {\"id\": %d, \"kind\": \"ab\", \"at\": {\"x\": %d, \"y\": 7}},\n", i, 10 + i, i % 5);
    sprintf(at, "}");
    struct scan s = {0};
    for (int p = 0; p < passes; p++) {
        s.at = text;
        if (!value(&s))
            return 1;
    }
    printf("%lu strings, %lu numbers, %lu objects, %016llx\n", s.strings, s.numbers, s.objects,
           (unsigned long long)s.digest);
    free(text);
    return 0;
}
