/* Correlates measured series with each other. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void centre(double *a, size_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += a[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        a[i] -= mean;
}

int main(int argc, char **argv)
{
    size_t series = argc > 1 ? strtoul(argv[1], 0, 10) : 100;
    size_t n = argc > 2 ? strtoul(argv[2], 0, 10) : 1000;
    double *data = malloc(series * n * sizeof *data);
    double *norm = malloc(series * sizeof *norm);
    uint32_t state = 77;
    for (size_t s = 0; s < series; s++) {
        double level = 0;
        for (size_t i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            level += (double)(state >> 24) - 127.5;
            data[s * n + i] = level;
        }
        centre(data + s * n, n);
        norm[s] = sqrt(dot(data + s * n, data + s * n, n));
    }
    double strongest = 0;
    unsigned close = 0;
    for (size_t a = 0; a < series; a++)
        for (size_t b = 0; b < a; b++) {
            double r = dot(data + a * n, data + b * n, n) / (norm[a] * norm[b]);
            close += fabs(r) > 0.5;
            if (fabs(r) > strongest)
                strongest = fabs(r);
        }
    printf("%u pairs above 0.5, strongest %.9f\n", close, strongest);
    free(norm);
    free(data);
    return 0;
}
