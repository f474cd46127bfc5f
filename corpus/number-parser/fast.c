/* Parses columns of numbers in any base (a register dump, a hex or octal table)
 * with range checks against a field's own maximum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct format {
    uint64_t max;       /* the field's largest value */
    unsigned base;
    char separator;
};

static signed char digit_value[256];

/* Reads one number; *end is after it. Returns 0 and sets *bad when it is too large. */
static uint64_t read_number(const struct format *f, const char *text, const char **end, int *bad)
{
    uint64_t value = 0;
    for (;;) {
        int digit = digit_value[(unsigned char)*text];
        if (digit < 0 || (unsigned)digit >= f->base)
            break;
        if (__builtin_mul_overflow(value, f->base, &value) ||
            __builtin_add_overflow(value, digit, &value) || value > f->max) {
            *bad = 1;
            return 0;
        }
        text++;
    }
    *end = text;
    return value;
}

static uint64_t sum_column(const struct format *f, const char *text, size_t *numbers)
{
    uint64_t sum = 0;
    int bad = 0;
    while (*text) {
        sum += read_number(f, text, &text, &bad);
        if (bad) {
            fprintf(stderr, "number too large\n");
            exit(1);
        }
        ++*numbers;
        if (*text == f->separator)
            text++;
    }
    return sum;
}

static char *make_table(size_t rows, unsigned base)
{
    static const char names[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char *table = malloc(rows * 10 + 1), *at = table;
    uint64_t state = 7;
    for (size_t i = 0; i < rows; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        for (int d = 0; d < 9; d++)
            *at++ = names[(state >> (6 * d)) % base];
        *at++ = ',';
    }
    *at = 0;
    return table;
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct format f = {UINT64_C(1) << 48, argc > 3 ? atoi(argv[3]) : 10, ','};

    memset(digit_value, -1, sizeof digit_value);
    for (int i = 0; i < 10; i++)
        digit_value['0' + i] = i;
    for (int i = 0; i < 26; i++)
        digit_value['a' + i] = 10 + i;
    char *table = make_table(rows, f.base);
    uint64_t sum = 0;
    size_t numbers = 0;
    for (int p = 0; p < passes; p++)
        sum += sum_column(&f, table, &numbers);
    printf("%zu numbers, sum %llu\n", numbers, (unsigned long long)sum);
    free(table);
    return 0;
}
