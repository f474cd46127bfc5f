/* Long-run behaviour of a Markov chain: powers of its transition matrix. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct matrix {
    int n;
    float *at;
};

static struct matrix matrix_new(int n)
{
    struct matrix m = {n, calloc((size_t)n * n, sizeof(float))};
    if (!m.at)
        abort();
    return m;
}

static void multiply(const struct matrix *a, const struct matrix *b, struct matrix *c)
{
    int n = a->n;
    memset(c->at, 0, (size_t)n * n * sizeof(float));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c->at[i * n + j] += a->at[i * n + k] * b->at[k * n + j];
}

static void fill(struct matrix *m)
{
    uint32_t state = 2;
    for (int i = 0; i < m->n; i++) {
        float sum = 0;
        for (int j = 0; j < m->n; j++) {
            state = state * 1664525 + 1013904223;
            sum += m->at[i * m->n + j] = (float)(state >> 16);
        }
        for (int j = 0; j < m->n; j++)
            m->at[i * m->n + j] /= sum;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 256, squarings = argc > 2 ? atoi(argv[2]) : 4;
    struct matrix a = matrix_new(n), b = matrix_new(n);
    fill(&a);
    for (int i = 0; i < squarings; i++) {
        struct matrix swap = a;
        multiply(&a, &a, &b);
        a = b;
        b = swap;
    }
    double most = 0;
    int state = 0;
    for (int j = 0; j < n; j++)
        if (a.at[j] > most) {
            most = a.at[j];
            state = j;
        }
    printf("state %d: %.6f\n", state, most);
    free(a.at);
    free(b.at);
    return 0;
}
