/* PageRank over a graph in arrays: every page gathers rank from pages all over. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
    char title[48];
    uint32_t out;       /* number of links on it */
    uint32_t begin;     /* its incoming links */
    uint32_t end;
};

struct web {
    size_t pages;
    struct page *page;
    uint32_t *link;
    float *rank;        /* apart: it is gathered from everywhere */
};

static float iterate(const struct web *w, float *next)
{
    float change = 0;
    for (size_t p = 0; p < w->pages; p++) {
        float sum = 0;
        for (uint32_t l = w->page[p].begin; l < w->page[p].end; l++)
            sum += w->rank[w->link[l]];
        next[p] = 0.15f + 0.85f * sum;
        change += next[p] > w->rank[p] ? next[p] - w->rank[p] : 0;
    }
    return change;
}

int main(int argc, char **argv)
{
    struct web w = {.pages = argc > 1 ? strtoul(argv[1], 0, 10) : 10000};
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    enum { LINKS = 16 };
    w.page = calloc(w.pages, sizeof *w.page);
    w.link = malloc(w.pages * LINKS * sizeof *w.link);
    w.rank = malloc(w.pages * sizeof *w.rank);
    float *next = malloc(w.pages * sizeof *next);
    uint64_t state = 88172645463325252u;
    for (size_t p = 0; p < w.pages; p++) {
        snprintf(w.page[p].title, sizeof w.page[p].title, "page %zu", p);
        w.page[p].begin = (uint32_t)p * LINKS;
        w.page[p].end = w.page[p].begin + LINKS;
        w.rank[p] = 1;
        for (int l = 0; l < LINKS; l++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            uint32_t from = (uint32_t)(state >> 20) % w.pages;
            w.link[p * LINKS + l] = from;
            w.page[from].out++;
        }
    }
    float change = 0;
    for (int r = 0; r < rounds; r++) {
        change = iterate(&w, next);
        for (size_t p = 0; p < w.pages; p++)
            w.rank[p] = w.page[p].out ? next[p] / (float)w.page[p].out : 0;
    }
    printf("%.4f %.6f\n", change, w.rank[w.pages / 2]);
    free(w.page);
    free(w.link);
    free(w.rank);
    free(next);
    return 0;
}
