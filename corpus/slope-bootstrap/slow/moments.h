#pragma once
#include <stddef.h>

/* Sums of a straight line's fit by least squares. */
struct moments {
    double n, x, y, xx, xy;
};

void add_block(struct moments *sums, const double *x, const double *y, size_t count);
double slope(const struct moments *sums);
