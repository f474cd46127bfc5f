#include <stddef.h>

struct grid {
    int width, height;
    double *cells;
    const char *name;
    unsigned faults;
    char last_fault[128];
};

int grid_make(struct grid *grid, const char *name, int width, int height);
double grid_at(struct grid *grid, int x, int y);
void grid_set(struct grid *grid, int x, int y, double value);
