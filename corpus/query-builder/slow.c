/* Builds SQL statements with many values, as a bulk loader does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct statement {
    char *text;
};

static void add(struct statement *s, const char *part)
{
    strcat(s->text, part);
}

static size_t build(struct statement *s, int rows, uint32_t *state)
{
    s->text[0] = 0;
    add(s, "INSERT INTO readings (sensor, at, value) VALUES ");
    for (int i = 0; i < rows; i++) {
        char value[64];
        *state = *state * 1664525 + 1013904223;
        snprintf(value, sizeof value, "%s(%u, %u, %u)", i ? ", " : "", *state >> 28, 1700000000 + i, *state >> 20 & 255);
        add(s, value);
    }
    add(s, ";");
    return strlen(s->text);
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 500, statements = argc > 2 ? atoi(argv[2]) : 10;
    struct statement s = {malloc((size_t)rows * 40 + 64)};
    uint32_t state = 1;
    uint64_t digest = 0;
    for (int i = 0; i < statements; i++) {
        size_t n = build(&s, rows, &state);
        digest = digest * 31 + n + (unsigned char)s.text[n / 2];
    }
    printf("%016llx\n", (unsigned long long)digest);
    free(s.text);
    return 0;
}
