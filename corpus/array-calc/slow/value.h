#ifndef VALUE_H
#define VALUE_H

#include <stddef.h>
#include <stdint.h>

enum type { REAL, INTEGER, SHORT, BOOLEAN };

struct array {
    enum type type;
    size_t length;
    const uint8_t *missing; /* a bit each, or NULL */
    union {
        double *reals;
        int64_t *integers;
        int16_t *shorts;
        uint8_t *booleans;
    };
};

struct array *array_new(enum type type, size_t length);
void array_free(struct array *a);

/* An element as a number; NaN where it is missing. */
double array_number(const struct array *a, size_t index);

#endif
