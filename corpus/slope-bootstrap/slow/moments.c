#include "moments.h"

void add_block(struct moments *sums, const double *x, const double *y, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        sums->x += x[at];
        sums->y += y[at];
        sums->xx += x[at] * x[at];
        sums->xy += x[at] * y[at];
    }
    sums->n += (double)count;
}

double slope(const struct moments *sums)
{
    double spread = sums->n * sums->xx - sums->x * sums->x;
    return spread != 0.0 ? (sums->n * sums->xy - sums->x * sums->y) / spread : 0.0;
}
