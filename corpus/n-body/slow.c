/* Planets around a star: the classic simulation, five bodies, all pairs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 5 };

struct vector {
    double x, y, z;
};

struct body {
    struct vector at, speed;
    double mass;
};

static inline struct vector minus(struct vector a, struct vector b)
{
    return (struct vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline struct vector plus_scaled(struct vector a, struct vector b, double k)
{
    return (struct vector){a.x + b.x * k, a.y + b.y * k, a.z + b.z * k};
}

static inline double dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static void advance(struct body *bodies, double dt)
{
    for (int i = 0; i < BODIES; i++)
        for (int j = i + 1; j < BODIES; j++) {
            struct body *a = &bodies[i], *b = &bodies[j];
            struct vector apart = minus(a->at, b->at);
            double square = dot(apart, apart);
            double pull = dt / (square * sqrt(square));
            a->speed = plus_scaled(a->speed, apart, -b->mass * pull);
            b->speed = plus_scaled(b->speed, apart, a->mass * pull);
        }
    for (int i = 0; i < BODIES; i++)
        bodies[i].at = plus_scaled(bodies[i].at, bodies[i].speed, dt);
}

static double energy(const struct body *bodies)
{
    double e = 0;
    for (int i = 0; i < BODIES; i++) {
        e += 0.5 * bodies[i].mass * dot(bodies[i].speed, bodies[i].speed);
        for (int j = i + 1; j < BODIES; j++) {
            struct vector apart = minus(bodies[i].at, bodies[j].at);
            e -= bodies[i].mass * bodies[j].mass / sqrt(dot(apart, apart));
        }
    }
    return e;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 10000;
    struct body bodies[BODIES] = {{{0, 0, 0}, {0, 0, 0}, 39.47}};
    for (int i = 1; i < BODIES; i++) {
        double r = 1.5 * i * i;
        bodies[i] = (struct body){{r, 0.1 * i, 0}, {0, sqrt(39.47 / r), 0.05 * i}, 0.01 * i};
    }
    double before = energy(bodies);
    for (int i = 0; i < steps; i++)
        advance(bodies, 0.0005);
    printf("%.9f %.9f\n", before, energy(bodies));
    return 0;
}
