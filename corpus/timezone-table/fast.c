/* Local time of a stream of events: searches the zone's changes of offset for each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANGES = 236 };

struct zone {
    int64_t at[CHANGES]; /* seconds since 1970 at which an offset begins */
    int32_t offset[CHANGES];
    int count;
    int last; /* the period that was found last */
};

struct local_time {
    int64_t day;
    int32_t second;
    int32_t offset;
};

static int period_of(struct zone *z, int64_t time)
{
    int last = z->last;
    if (z->at[last] <= time && (last + 1 == z->count || time < z->at[last + 1]))
        return last;
    int low = 0, high = z->count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (z->at[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return z->last = low;
}

static struct local_time to_local( struct zone *z, int64_t time)
{
    int32_t offset = z->offset[period_of(z, time)];
    int64_t local = time + offset;
    return (struct local_time){local / 86400, (int32_t)(local % 86400), offset};
}

static uint64_t events_by_hour( struct zone *z, const int64_t *times, size_t count, uint64_t *hours)
{
    uint64_t days = 0;
    for (size_t i = 0; i < count; i++) {
        struct local_time t = to_local(z, times[i]);
        hours[t.second / 3600]++;
        days += (uint64_t)t.day;
    }
    return days;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct zone zone = {.count = CHANGES};
    for (int i = 0; i < CHANGES; i++) {
        zone.at[i] = (int64_t)i * 15778800;
        zone.offset[i] = i % 2 ? 7200 : 3600;
    }
    int64_t *times = malloc(count * sizeof *times), now = 1700000000;
    uint32_t state = 37;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        times[i] = now += (state >> 24) % 5;
    }
    uint64_t hours[24] = {0}, sum = 0;
    for (int p = 0; p < passes; p++)
        sum += events_by_hour(&zone, times, count, hours);
    for (int h = 0; h < 24; h++)
        sum = sum * 31 + hours[h];
    printf("%016llx\n", (unsigned long long)sum);
    free(times);
    return 0;
}
