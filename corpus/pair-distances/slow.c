/* Histogram of the distances between all pairs of points; each thread takes a range of first points. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, BINS = 64 };

struct point {
    float x, y, z;
};

struct share {
    const struct point *points;
    int count, first, last, stride;
    uint64_t bins[BINS];
};

static void *count_distances(void *argument)
{
    struct share *share = argument;
    for (int a = share->first; a < share->last; a += share->stride)
        for (int b = a + 1; b < share->count; b++) {
            const struct point *p = &share->points[a], *q = &share->points[b];
            float x = p->x - q->x, y = p->y - q->y, z = p->z - q->z;
            share->bins[(int)(sqrtf(x * x + y * y + z * z) * (BINS / 2)) & (BINS - 1)]++;
        }
    return NULL;
}

static uint64_t histogram(const struct point *points, int count)
{
    static struct share shares[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        shares[t] = (struct share){points, count, count / THREADS * t, count / THREADS * (t + 1), 1, {0}};
        pthread_create(&threads[t], NULL, count_distances, &shares[t]);
    }
    uint64_t bins[BINS] = {0}, sum = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        for (int bin = 0; bin < BINS; bin++)
            bins[bin] += shares[t].bins[bin];
    }
    for (int bin = 0; bin < BINS; bin++)
        sum = sum * 31 + bins[bin];
    return sum;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 4000;
    struct point *points = calloc((size_t)count, sizeof *points);
    uint32_t state = 4;
    uint64_t sum = 0;
    for (int frame = 0; frame < 4; frame++) {
        for (int p = 0; p < count; p++) {
            float at[3];
            for (int axis = 0; axis < 3; axis++) {
                state = state * 1664525 + 1013904223;
                at[axis] = (float)(state >> 8) / 16777216.0f;
            }
            points[p] = (struct point){at[0], at[1], at[2]};
        }
        sum = sum * 7 + histogram(points, count);
    }
    printf("%016lx\n", (unsigned long)sum);
    free(points);
    return 0;
}
