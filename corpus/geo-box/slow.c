/* Which of a fleet's vehicles are within reach of depots: distances on the sphere. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct place {
    double latitude, longitude; /* radians */
};

static const double EARTH_METRES = 6371008.8;

/* Great-circle distance by the haversine formula, in metres. */
static double distance(const struct place *a, const struct place *b)
{
    double u = sin((b->latitude - a->latitude) / 2);
    double v = sin((b->longitude - a->longitude) / 2);
    return 2 * EARTH_METRES * asin(sqrt(u * u + cos(a->latitude) * cos(b->latitude) * v * v));
}

/* Half the box around a depot: first north, then east of it. */
static int within_box(const struct place *depot, const struct place *vehicle, double metres)
{
    struct place north = {vehicle->latitude, depot->longitude};
    if (distance(depot, &north) > metres)
        return 0;
    struct place east = {vehicle->latitude, vehicle->longitude};
    return distance(&north, &east) <= metres;
}

static uint64_t count_within(const struct place *depots, int depot_count, const struct place *vehicles,
                             size_t vehicle_count, double metres)
{
    uint64_t found = 0;
    for (int d = 0; d < depot_count; d++)
        for (size_t v = 0; v < vehicle_count; v++)
            found += (uint64_t)(d + 1) * within_box(&depots[d], &vehicles[v], metres);
    return found;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct place depots[8], *vehicles = malloc(count * sizeof *vehicles);
    uint32_t state = 13;
    for (int d = 0; d < 8; d++)
        depots[d] = (struct place){0.7 + d * 0.03, 0.1 + d * 0.05};
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        vehicles[i].latitude = 0.65 + (state >> 16) / 65536.0 * 0.3;
        state = state * 1664525 + 1013904223;
        vehicles[i].longitude = 0.05 + (state >> 16) / 65536.0 * 0.5;
    }
    uint64_t found = 0;
    for (int p = 0; p < passes; p++)
        found += count_within(depots, 8, vehicles, count, 150e3 + p);
    printf("%llu within reach\n", (unsigned long long)found);
    free(vehicles);
    return 0;
}
