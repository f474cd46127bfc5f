/* Two chemicals that react and spread over a plate, a step at a time. */
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>

struct plate {
    struct grid a, b, next_a, next_b;
    double spread_a, spread_b, feed, kill;
};

static double around(struct grid *g, int x, int y)
{
    return grid_at(g, x - 1, y) + grid_at(g, x + 1, y) + grid_at(g, x, y - 1) + grid_at(g, x, y + 1) - 4 * grid_at(g, x, y);
}

static void react(struct plate *p, int x, int y)
{
    double a = grid_at(&p->a, x, y), b = grid_at(&p->b, x, y);
    double meeting = a * b * b;
    grid_set(&p->next_a, x, y, a + p->spread_a * around(&p->a, x, y) - meeting + p->feed * (1 - a));
    grid_set(&p->next_b, x, y, b + p->spread_b * around(&p->b, x, y) + meeting - (p->kill + p->feed) * b);
}

static void step(struct plate *p)
{
    for (int y = 1; y < p->a.height - 1; y++)
        for (int x = 1; x < p->a.width - 1; x++)
            react(p, x, y);
    struct grid swap = p->a;
    p->a = p->next_a;
    p->next_a = swap;
    swap = p->b;
    p->b = p->next_b;
    p->next_b = swap;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 64, steps = argc > 2 ? atoi(argv[2]) : 100;
    struct plate p = {.spread_a = 0.16, .spread_b = 0.08, .feed = 0.035, .kill = 0.065};
    if (!grid_make(&p.a, "a", side, side) || !grid_make(&p.b, "b", side, side) || !grid_make(&p.next_a, "next a", side, side) ||
        !grid_make(&p.next_b, "next b", side, side))
        return 1;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int drop = (x / 5 + y / 7) % 6 == 0;
            grid_set(&p.a, x, y, drop ? 0.5 : 1);
            grid_set(&p.b, x, y, drop ? 0.25 : 0);
            grid_set(&p.next_a, x, y, 1);
        }
    for (int s = 0; s < steps; s++)
        step(&p);
    double sum = 0;
    for (int y = -1; y <= side; y++)
        for (int x = -1; x <= side; x++)
            sum += grid_at(&p.a, x, y) * (x + 2) + grid_at(&p.b, x, y) * (y + 3);
    printf("%.9f %u\n", sum, p.a.faults + p.b.faults);
    return 0;
}
