/* Traces a square bitmap of many small spots: trace WIDTH. */
#include "potracelib.h"
#include "bitmap.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned state = 1;

static unsigned below(unsigned bound) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
}

int main(int argc, char **argv) {
    int width = argc > 1 ? atoi(argv[1]) : 1000;
    potrace_bitmap_t *bitmap = bm_new(width, width);
    for (int spot = 0; spot < width * (width / 400); spot++) {
        int left = below(width), top = below(width);
        for (int y = top; y < top + 6 && y < width; y++)
            for (int x = left; x < left + 5 && x < width; x++)
                BM_PUT(bitmap, x, y, 1);
    }
    potrace_state_t *traced = potrace_trace(potrace_param_default(), bitmap);
    long corners = 0;
    for (potrace_path_t *path = traced->plist; path; path = path->next)
        corners += path->curve.n;
    printf("%ld\n", corners);
    return 0;
}
