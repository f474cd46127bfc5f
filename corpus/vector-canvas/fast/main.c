/* Places the outlines of a map's symbols on a page and adds up what they cover. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "transform.h"

enum { POINTS = 24, SYMBOLS = 64 };

struct page {
    double left, top, right, bottom;
    double area;
    uint64_t drawn, clipped;
};

static uint32_t state = 9;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static void make_symbols(struct point symbols[SYMBOLS][POINTS])
{
    for (int s = 0; s < SYMBOLS; s++)
        for (int i = 0; i < POINTS; i++) {
            double angle = i * 6.283185307179586 / POINTS, radius = 4 + random_below(100) / 50.0;
            symbols[s][i] = (struct point){cos(angle) * radius, sin(angle) * radius};
        }
}

static int outside(const struct page *page, const struct point *p)
{
    double left = p[0].x, right = left, top = p[0].y, bottom = top;
    for (int i = 1; i < POINTS; i++) {
        left = p[i].x < left ? p[i].x : left;
        right = p[i].x > right ? p[i].x : right;
        top = p[i].y < top ? p[i].y : top;
        bottom = p[i].y > bottom ? p[i].y : bottom;
    }
    return right < page->left || left > page->right || bottom < page->top || top > page->bottom;
}

static double covered(const struct point *p)
{
    double twice = p[POINTS - 1].x * p[0].y - p[0].x * p[POINTS - 1].y;
    for (int i = 1; i < POINTS; i++)
        twice += p[i - 1].x * p[i].y - p[i].x * p[i - 1].y;
    return fabs(twice) / 2;
}

static void draw_symbol(struct page *page, const struct transform *view, const struct point *outline)
{
    struct transform place = transform_translate(random_below(900), random_below(700));
    struct transform whole = transform_multiply(view, &place);
    struct point device[POINTS];
    transform_points(&whole, outline, device, POINTS);
    if (outside(page, device)) {
        page->clipped++;
        return;
    }
    page->drawn++;
    page->area += covered(device);
}

int main(int argc, char **argv)
{
    int sheets = argc > 1 ? atoi(argv[1]) : 20;
    int symbols_each = argc > 2 ? atoi(argv[2]) : 1000;
    static struct point symbols[SYMBOLS][POINTS];
    make_symbols(symbols);
    struct page page = {0, 0, 800, 600, 0, 0, 0};
    for (int s = 0; s < sheets; s++) {
        struct transform view = s % 40 == 7 ? transform_tilt(1e-4, 2e-4) : transform_scale(1 + s % 3 * 0.25, 1 + s % 3 * 0.25);
        for (int i = 0; i < symbols_each; i++)
            draw_symbol(&page, &view, symbols[random_below(SYMBOLS)]);
    }
    printf("%llu drawn, %llu clipped, %.6e\n", (unsigned long long)page.drawn, (unsigned long long)page.clipped, page.area);
    return 0;
}
