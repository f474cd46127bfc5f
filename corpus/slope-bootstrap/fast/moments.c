#include "moments.h"

void add_block(struct moments *sums, const double *x, const double *y, size_t count)
{
    double sum_x = sums->x, sum_y = sums->y, sum_xx = sums->xx, sum_xy = sums->xy;
    for (size_t at = 0; at < count; at++) {
        sum_x += x[at];
        sum_y += y[at];
        sum_xx += x[at] * x[at];
        sum_xy += x[at] * y[at];
    }
    sums->x = sum_x;
    sums->y = sum_y;
    sums->xx = sum_xx;
    sums->xy = sum_xy;
    sums->n += (double)count;
}

double slope(const struct moments *sums)
{
    double spread = sums->n * sums->xx - sums->x * sums->x;
    return spread != 0.0 ? (sums->n * sums->xy - sums->x * sums->y) / spread : 0.0;
}
