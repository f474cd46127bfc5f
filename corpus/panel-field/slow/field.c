/* A year's yield of a field of solar panels, each with its own tilt, facing and dirt. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sun.h"

struct panel {
    double tilt, facing, area;
    double clean;       /* share of light that comes through */
    double temperature; /* of the cells, degrees */
    double energy;      /* Wh */
};

struct field {
    struct place place;
    struct panel *panels;
    size_t count;
    double limit; /* of the inverter, W */
    double clipped;
};

static double cell_efficiency(struct panel *p, double light, double air)
{
    double target = air + light * 0.031;
    p->temperature += (target - p->temperature) * (1 - exp(-0.2 - light * 1e-4));
    double loss = 0.0041 * (p->temperature - 25);
    return 0.19 * (1 - loss) * (1 - exp(-light / 40));
}

static double panel_power(struct panel *p, const struct place *place, int minute, double air)
{
    struct sun sun = sun_at(place, minute);
    if (sun.altitude <= 0)
        return 0;
    double light = plane_light(&sun, p->tilt, p->facing) * p->clean;
    return light * p->area * cell_efficiency(p, light, air);
}

static double field_step(struct field *f, int minute, int length)
{
    double air = 11 + 9 * sin(minute * 1.1954e-5 - 1.9) + 4 * sin(minute * 0.0043633 - 2.3);
    double total = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct panel *p = &f->panels[i];
        double power = panel_power(p, &f->place, minute, air);
        p->energy += power * length / 60;
        total += power;
    }
    if (total > f->limit) {
        f->clipped += (total - f->limit) * length / 60;
        total = f->limit;
    }
    return total * length / 60;
}

int main(int argc, char **argv)
{
    struct field f = {.place = {0.86, 0.16}, .count = argc > 1 ? strtoul(argv[1], 0, 10) : 100};
    int step = argc > 2 ? atoi(argv[2]) : 60;
    f.panels = calloc(f.count, sizeof *f.panels);
    f.limit = 190.0 * f.count;
    uint32_t state = 5;
    for (size_t i = 0; i < f.count; i++) {
        state = state * 1664525 + 1013904223;
        f.panels[i] = (struct panel){0.35 + (state >> 24) / 700.0, 2.6 + (state >> 16 & 255) / 230.0,
                                     1.6 + (state >> 15 & 1) * 0.4, 0.9 + (state >> 8 & 127) / 1400.0, 10, 0};
    }
    double yield = 0, best = 0;
    for (int minute = 0; minute < 365 * 1440; minute += step)
        yield += field_step(&f, minute, step);
    for (size_t i = 0; i < f.count; i++)
        if (f.panels[i].energy > best)
            best = f.panels[i].energy;
    printf("%.6f kWh, clipped %.6f, best panel %.6f\n", yield / 1000, f.clipped / 1000, best / 1000);
    free(f.panels);
    return 0;
}
