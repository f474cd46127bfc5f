/* Lights the points of a floor by lamps that shine through tinted balls and panes. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct vector {
    double x, y, z;
};

struct ray {
    struct vector from, to;
};

struct surface {
    struct vector normal;
    double u, v;
};

struct shape {
    int (*hit)(const struct shape *, const struct ray *, double *, struct surface *);
    struct vector centre, axis;
    double radius, opacity, roughness;
};

static struct vector minus(struct vector a, struct vector b)
{
    return (struct vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static double dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector along(struct vector from, struct vector way, double t)
{
    return (struct vector){from.x + way.x * t, from.y + way.y * t, from.z + way.z * t};
}

static int hit_ball(const struct shape *s, const struct ray *ray, double *t, struct surface *surface)
{
    struct vector off = minus(ray->from, s->centre);
    double a = dot(ray->to, ray->to), b = dot(off, ray->to), c = dot(off, off) - s->radius * s->radius;
    double under = b * b - a * c;
    if (under < 0)
        return 0;
    *t = (-b - sqrt(under)) / a;
    if (*t <= 0)
        return 0;
    if (!surface)
        return 1;
    struct vector n = minus(along(ray->from, ray->to, *t), s->centre);
    double scale = 1 / s->radius;
    surface->normal = (struct vector){n.x * scale, n.y * scale, n.z * scale};
    surface->u = atan2(n.z, n.x) * 0.15915494309189535 + 0.5;
    surface->v = acos(fmax(-1, fmin(1, n.y * scale))) * 0.3183098861837907;
    return 1;
}

static int hit_pane(const struct shape *s, const struct ray *ray, double *t, struct surface *surface)
{
    double slope = dot(ray->to, s->axis);
    if (fabs(slope) < 1e-9)
        return 0;
    *t = dot(minus(s->centre, ray->from), s->axis) / slope;
    struct vector in = minus(along(ray->from, ray->to, *t), s->centre);
    if (*t <= 0 || dot(in, in) > s->radius * s->radius)
        return 0;
    if (!surface)
        return 1;
    surface->normal = s->axis;
    surface->u = fmod(in.x * s->roughness + 16, 1);
    surface->v = fmod(in.y * s->roughness + 16, 1);
    return 1;
}

static double passing(const struct shape *shapes, size_t count, struct vector point, struct vector lamp)
{
    struct ray ray = {point, minus(lamp, point)};
    double light = 1, t;
    for (size_t i = 0; i < count; i++)
        if (shapes[i].hit(&shapes[i], &ray, &t, 0) && t < 1)
            light *= 1 - shapes[i].opacity;
    return light;
}

static double look_down(const struct shape *shapes, size_t count, struct vector point)
{
    struct ray ray = {{point.x, 50, point.z}, {0, -1, 0}};
    struct surface surface, nearest = {{0, 1, 0}, 0, 0};
    double t, best = 50;
    for (size_t i = 0; i < count; i++)
        if (shapes[i].hit(&shapes[i], &ray, &t, &surface) && t < best) {
            best = t;
            nearest = surface;
        }
    return (nearest.normal.y + 1) * (1 + 0.25 * ((int)(nearest.u * 8 + nearest.v * 8) & 1));
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 64;
    size_t count = argc > 2 ? strtoul(argv[2], 0, 10) : 40;
    struct shape *shapes = calloc(count, sizeof *shapes);
    struct vector lamps[6];
    uint32_t state = 5;
    for (size_t i = 0; i < count + 6; i++) {
        double r[4];
        for (int k = 0; k < 4; k++)
            r[k] = (double)((state = state * 1664525 + 1013904223) >> 8) / (1 << 24);
        if (i >= count)
            lamps[i - count] = (struct vector){r[0] * 20, 18 + r[1] * 12, r[2] * 20};
        else
            shapes[i] = (struct shape){i % 4 ? hit_ball : hit_pane, {r[0] * 20, 2 + r[1] * 14, r[2] * 20}, {0, 0.6, 0.8}, 2 + r[3] * 3,
                                       0.05 + r[3] * 0.3, 1 + r[0]};
    }
    double sum = 0;
    for (int z = 0; z < side; z++)
        for (int x = 0; x < side; x++) {
            struct vector point = {20.0 * x / side, 0, 20.0 * z / side};
            double light = 0;
            for (int l = 0; l < 6; l++)
                light += passing(shapes, count, point, lamps[l]);
            sum += light * look_down(shapes, count, point);
        }
    printf("%.9f\n", sum);
    free(shapes);
    return 0;
}
