#include "grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int grid_make(struct grid *grid, const char *name, int width, int height)
{
    memset(grid, 0, sizeof *grid);
    grid->width = width;
    grid->height = height;
    grid->name = name;
    grid->cells = calloc((size_t)width * (size_t)height, sizeof *grid->cells);
    return grid->cells != 0;
}

static __attribute__((noinline, cold)) double outside(struct grid *grid, int x, int y)
{
    char where[48], message[sizeof grid->last_fault];
    snprintf(where, sizeof where, "column %d, row %d", x, y);
    snprintf(message, sizeof message, "%s: no cell at %s (%d × %d)", grid->name, where, grid->width, grid->height);
    if (strcmp(message, grid->last_fault) != 0)
        memcpy(grid->last_fault, message, sizeof message);
    grid->faults++;
    x = x < 0 ? 0 : x >= grid->width ? grid->width - 1 : x;
    y = y < 0 ? 0 : y >= grid->height ? grid->height - 1 : y;
    return grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
}

double grid_at(struct grid *grid, int x, int y)
{
    if (x < 0 || y < 0 || x >= grid->width || y >= grid->height)
        return outside(grid, x, y);
    return grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
}

void grid_set(struct grid *grid, int x, int y, double value)
{
    if (x >= 0 && y >= 0 && x < grid->width && y < grid->height)
        grid->cells[(size_t)y * (size_t)grid->width + (size_t)x] = value;
}
