/* Multiplies polynomials in x and y by factors in y, modulo 2^32: a row of coefficients for each power of y. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, WIDTH = 24 };

struct row {
    int length;
    uint32_t coefficient[WIDTH];
};

struct polynomial {
    int rows;
    struct row row[2 * ROWS];
};

struct factor {
    int terms;
    uint32_t coefficient[ROWS];
};

static uint32_t state = 29;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 9) % n;
}

static void add_multiple(uint32_t *to, const uint32_t *from, uint32_t factor, int count)
{
    for (int i = 0; i < count; i++)
        to[i] += from[i] * factor;
}

static void multiply(struct polynomial *to, const struct polynomial *p, const struct factor *f)
{
    to->rows = p->rows + f->terms - 1;
    for (int i = 0; i < to->rows; i++)
        to->row[i] = (struct row){0};
    for (int i = 0; i < f->terms; i++)
        for (int j = 0; j < p->rows; j++) {
            const struct row *from = &p->row[j];
            struct row *row = &to->row[i + j];
            add_multiple(row->coefficient, from->coefficient, f->coefficient[i], from->length);
            if (row->length < from->length)
                row->length = from->length;
        }
}

static uint32_t evaluate(const struct polynomial *p, uint32_t x, uint32_t y)
{
    uint32_t value = 0;
    for (int i = p->rows; i-- > 0;) {
        uint32_t row = 0;
        for (int j = p->row[i].length; j-- > 0;)
            row = row * x + p->row[i].coefficient[j];
        value = value * y + row;
    }
    return value;
}

static uint32_t evaluate_factor(const struct factor *f, uint32_t y)
{
    uint32_t value = 0;
    for (int i = f->terms; i-- > 0;)
        value = value * y + f->coefficient[i];
    return value;
}

static void random_factor(struct factor *f)
{
    f->terms = 4 + (int)random_below(ROWS - 4);
    for (int i = 0; i < f->terms; i++)
        f->coefficient[i] = 1 + random_below(1000);
}

static void random_polynomial(struct polynomial *p)
{
    p->rows = 3 + (int)random_below(ROWS - 3);
    for (int i = 0; i < p->rows; i++) {
        p->row[i].length = 1 + (int)random_below(random_below(40) ? 3 : 10);
        for (int j = 0; j < p->row[i].length; j++)
            p->row[i].coefficient[j] = 1 + random_below(1000);
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct polynomial *p = calloc((size_t)count, sizeof *p), product;
    memset(&product, 0, sizeof product);
    for (int i = 0; i < count; i++)
        random_polynomial(&p[i]);
    struct factor factors[16];
    for (int i = 0; i < 16; i++)
        random_factor(&factors[i]);
    uint32_t sum = 0, wrong = 0;
    for (int pass = 0; pass < passes; pass++)
        for (int i = 0; i < count; i++) {
            const struct factor *f = &factors[(i * 7 + pass) % 16];
            multiply(&product, &p[i], f);
            uint32_t value = evaluate(&product, 3 + (uint32_t)pass, 5);
            sum = sum * 31 + value;
            if (i % 16 == 0)
                wrong += value != evaluate(&p[i], 3 + (uint32_t)pass, 5) * evaluate_factor(f, 5);
        }
    printf("%d products, %u wrong, %08x\n", count * passes, wrong, sum);
    free(p);
    return 0;
}
