#include "value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct array *array_new(enum type type, size_t length)
{
    static const size_t sizes[] = {8, 8, 2, 1};
    struct array *a = calloc(1, sizeof *a);
    *a = (struct array){.type = type, .length = length};
    a->reals = calloc(length, sizes[type]);
    return a;
}

void array_free(struct array *a)
{
    free(a->reals);
    free(a);
}

double array_number(const struct array *a, size_t index)
{
    if (index >= a->length) {
        fprintf(stderr, "index %zu of %zu\n", index, a->length);
        exit(1);
    }
    if (a->missing && a->missing[index / 8] >> index % 8 & 1)
        return NAN;
    switch (a->type) {
    case REAL:
        return a->reals[index];
    case INTEGER:
        return (double)a->integers[index];
    case SHORT:
        return a->shorts[index];
    case BOOLEAN:
        return a->booleans[index] != 0;
    }
    return NAN;
}
