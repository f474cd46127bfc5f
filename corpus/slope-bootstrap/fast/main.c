/* How sure is the rise of a tide gauge? The slope of its series, with the spread of block-bootstrap resamples. */
#include "moments.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 240, DAYS = 12000 };

static uint64_t state = 42;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void read_gauge(double *day, double *height)
{
    double surge = 0.0;
    for (int d = 0; d < DAYS; d++) {
        surge = 0.9 * surge + uniform() - 0.5;
        day[d] = d;
        height[d] = 0.0002 * d + 0.4 * sin(d * 0.2124) + 0.1 * sin(d * 0.0172) + surge;
    }
}

static int ascending(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static double resampled(const double *day, const double *height)
{
    struct moments sums = {0};
    for (int taken = 0; taken < DAYS; taken += BLOCK) {
        size_t from = (size_t)(uniform() * (DAYS - BLOCK));
        add_block(&sums, day + from, height + from, BLOCK);
    }
    return slope(&sums);
}

int main(int argc, char **argv)
{
    int resamples = argc > 1 ? atoi(argv[1]) : 20000;
    double *day = malloc(DAYS * sizeof *day), *height = malloc(DAYS * sizeof *height);
    double *slopes = malloc((size_t)resamples * sizeof *slopes);
    read_gauge(day, height);
    for (int r = 0; r < resamples; r++)
        slopes[r] = resampled(day, height);
    qsort(slopes, (size_t)resamples, sizeof *slopes, ascending);
    printf("%.8f %.8f %.8f\n", slopes[resamples / 40], slopes[resamples / 2], slopes[resamples - 1 - resamples / 40]);
    free(day);
    free(height);
    free(slopes);
    return 0;
}
