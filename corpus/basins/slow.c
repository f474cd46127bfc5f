/* Flood-fills the basins of a height map and measures them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct map {
    int width, height;
    uint8_t *level;
    int32_t *basin;
    int32_t *stack;
};

static int fill(struct map *m, int start, int32_t number)
{
    static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, 1, -1};
    int size = 0, depth = 0;
    m->stack[depth++] = start;
    m->basin[start] = number;
    while (depth) {
        int at = m->stack[--depth];
        int x = at % m->width, y = at / m->width;
        size++;
        for (int d = 0; d < 4; d++) {
            int nx = x + dx[d], ny = y + dy[d];
            if (nx < 0 || ny < 0 || nx >= m->width || ny >= m->height)
                continue;
            int next = ny * m->width + nx;
            if (m->basin[next] == 0 && m->level[next] == m->level[at]) {
                m->basin[next] = number;
                m->stack[depth++] = next;
            }
        }
    }
    return size;
}

int main(int argc, char **argv)
{
    struct map m = {.width = argc > 1 ? atoi(argv[1]) : 200, .height = 150};
    int rounds = argc > 2 ? atoi(argv[2]) : 10, n = m.width * m.height;
    m.level = malloc((size_t)n);
    m.basin = malloc((size_t)n * sizeof *m.basin);
    m.stack = malloc((size_t)n * sizeof *m.stack);
    uint32_t state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        m.level[i] = (uint8_t)((i % m.width / 9 + i / m.width / 7 + (state >> 30 == 0)) % 4);
    }
    long basins = 0, largest = 0;
    for (int r = 0; r < rounds; r++) {
        memset(m.basin, 0, (size_t)n * sizeof *m.basin);
        m.level[r * 7919 % n] ^= 1;
        for (int i = 0; i < n; i++)
            if (m.basin[i] == 0) {
                int size = fill(&m, i, (int32_t)++basins);
                if (size > largest)
                    largest = size;
            }
    }
    printf("%ld basins, largest %ld\n", basins, largest);
    free(m.level);
    free(m.basin);
    free(m.stack);
    return 0;
}
