/* Spreads rumours through a graph whose edges are linked lists, as they were read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct edge {
    uint32_t to;
    float weight;
    struct edge *next;
};

struct graph {
    size_t nodes;
    struct edge **first;
    float *now, *then;
};

static void add_edge(struct graph *g, uint32_t from, uint32_t to, float weight)
{
    struct edge *e = malloc(sizeof *e);
    *e = (struct edge){to, weight, g->first[from]};
    g->first[from] = e;
}

static double spread(struct graph *g)
{
    double all = 0;
    for (size_t n = 0; n < g->nodes; n++) {
        float heard = 0.1f * g->now[n];
        for (const struct edge *e = g->first[n]; e; e = e->next)
            heard += e->weight * g->now[e->to];
        g->then[n] = heard > 1 ? 1 : heard;
        all += g->then[n];
    }
    float *swap = g->now;
    g->now = g->then;
    g->then = swap;
    return all;
}

int main(int argc, char **argv)
{
    struct graph g = {.nodes = argc > 1 ? strtoul(argv[1], 0, 10) : 1000};
    size_t edges = argc > 2 ? strtoul(argv[2], 0, 10) : 20000;
    int rounds = argc > 3 ? atoi(argv[3]) : 10;
    uint64_t state = 88172645463325252u;
    g.first = calloc(g.nodes, sizeof *g.first);
    g.now = calloc(g.nodes, sizeof *g.now);
    g.then = calloc(g.nodes, sizeof *g.then);
    for (size_t i = 0; i < edges; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        add_edge(&g, (uint32_t)(state >> 32) % g.nodes, (uint32_t)state % g.nodes, (float)(state >> 60) / 200);
    }
    for (size_t n = 0; n < g.nodes; n += 17)
        g.now[n] = 1;
    double all = 0;
    for (int r = 0; r < rounds; r++)
        all += spread(&g);
    printf("%.3f\n", all);
    return 0;
}
