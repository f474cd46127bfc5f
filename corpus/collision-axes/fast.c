/* Finds the pairs of bodies in a box that touch, by separating axes, and lets them rebound. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = 10 };

struct vector {
    double x, y;
};

struct range {
    double low, high;
};

struct hull {
    struct vector centre;
    struct vector corner[CORNERS], normal[CORNERS];
    int corners;
    double radius;
};

struct shape_kind {
    struct range (*project)(const struct hull *hull, struct vector axis);
    int sides;
};

struct body {
    const struct shape_kind *kind;
    struct hull hull;
    struct vector velocity;
};

static struct range project_polygon(const struct hull *hull, struct vector axis)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < hull->corners; i++) {
        double d = (hull->centre.x + hull->corner[i].x) * axis.x + (hull->centre.y + hull->corner[i].y) * axis.y;
        low = d < low ? d : low;
        high = d > high ? d : high;
    }
    return (struct range){low, high};
}

static struct range project_disc(const struct hull *hull, struct vector axis)
{
    double d = hull->centre.x * axis.x + hull->centre.y * axis.y;
    return (struct range){d - hull->radius, d + hull->radius};
}

static const struct shape_kind polygon = {project_polygon, CORNERS}, disc = {project_disc, 0};

static void set_normals(struct hull *hull)
{
    for (int i = 0; i < hull->corners; i++) {
        struct vector a = hull->corner[i], b = hull->corner[i + 1 == hull->corners ? 0 : i + 1];
        double x = b.y - a.y, y = a.x - b.x, scale = 1 / sqrt(x * x + y * y);
        hull->normal[i] = (struct vector){x * scale, y * scale};
    }
}

static int apart(const struct body *a, const struct body *b, struct vector axis)
{
    struct range p = a->kind->project(&a->hull, axis), q = b->kind->project(&b->hull, axis);
    return p.high < q.low || q.high < p.low;
}

static int touch(const struct body *a, const struct body *b)
{
    double x = b->hull.centre.x - a->hull.centre.x, y = b->hull.centre.y - a->hull.centre.y;
    double square = x * x + y * y, reach = a->hull.radius + b->hull.radius;
    if (square > reach * reach)
        return 0;
    double distance = sqrt(square);
    if (apart(a, b, (struct vector){x / distance, y / distance}))
        return 0;
    for (int i = 0; i < a->kind->sides && i < a->hull.corners; i++)
        if (apart(a, b, a->hull.normal[i]))
            return 0;
    for (int i = 0; i < b->kind->sides && i < b->hull.corners; i++)
        if (apart(a, b, b->hull.normal[i]))
            return 0;
    return 1;
}

static uint32_t state = 37;

static double random_between(double low, double high)
{
    state = state * 1664525 + 1013904223;
    return low + (high - low) * (state >> 8) / 16777216.0;
}

static void make_body(struct body *b, int number, double box)
{
    memset(b, 0, sizeof *b);
    b->kind = number % 5 == 0 ? &disc : &polygon;
    b->hull.centre = (struct vector){random_between(0, box), random_between(0, box)};
    b->hull.radius = random_between(1.5, 3);
    b->hull.corners = 4 + number % 5;
    for (int i = 0; i < b->hull.corners; i++) {
        double angle = 6.283185307179586 * i / b->hull.corners;
        b->hull.corner[i] = (struct vector){b->hull.radius * cos(angle), b->hull.radius * sin(angle)};
    }
    set_normals(&b->hull);
    b->velocity = (struct vector){random_between(-1, 1), random_between(-1, 1)};
}

static void drift(struct body *b, double box)
{
    b->hull.centre.x += b->velocity.x * 0.1;
    b->hull.centre.y += b->velocity.y * 0.1;
    if (b->hull.centre.x < 0 || b->hull.centre.x > box)
        b->velocity.x = -b->velocity.x;
    if (b->hull.centre.y < 0 || b->hull.centre.y > box)
        b->velocity.y = -b->velocity.y;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100;
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    double box = sqrt(count) * 2;
    struct body *bodies = calloc((size_t)count, sizeof *bodies);
    for (int i = 0; i < count; i++)
        make_body(&bodies[i], i, box);
    uint64_t contacts = 0;
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < count; i++)
            for (int j = i + 1; j < count; j++)
                if (touch(&bodies[i], &bodies[j])) {
                    struct vector swap = bodies[i].velocity;
                    bodies[i].velocity = bodies[j].velocity;
                    bodies[j].velocity = swap;
                    contacts++;
                }
        for (int i = 0; i < count; i++)
            drift(&bodies[i], box);
    }
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += bodies[i].hull.centre.x * (i + 1) + bodies[i].hull.centre.y;
    printf("%llu contacts, %.9e\n", (unsigned long long)contacts, sum);
    free(bodies);
    return 0;
}
