/* Calendar arithmetic: civil dates from day numbers, and weekdays; all divisors are
 * constants. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct date {
    int32_t year;
    uint8_t month, day, weekday;
};

static struct date from_days(int32_t days)
{
    int32_t z = days + 719468;
    int32_t era = (z >= 0 ? z : z - 146096) / 146097;
    uint32_t day_of_era = (uint32_t)(z - era * 146097);
    uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t shifted = (5 * day_of_year + 2) / 153;
    struct date d;
    d.day = (uint8_t)(day_of_year - (153 * shifted + 2) / 5 + 1);
    d.month = (uint8_t)(shifted < 10 ? shifted + 3 : shifted - 9);
    d.year = (int32_t)year_of_era + era * 400 + (d.month <= 2);
    d.weekday = (uint8_t)((z + 3) % 7);
    return d;
}

struct tally {
    uint32_t fridays[13];
    uint32_t leap_days;
    uint64_t digest;
};

static void count(struct tally *t, int32_t first, int32_t step, int n)
{
    for (int i = 0; i < n; i++) {
        struct date d = from_days(first + i * step);
        t->fridays[d.month] += d.day == 13 && d.weekday == 5;
        t->leap_days += d.month == 2 && d.day == 29;
        t->digest = (t->digest << 5) - t->digest + (uint32_t)d.year * 512 + d.month * 32 + d.day;
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    struct tally tally = {{0}, 0, 0};
    for (int r = 0; r < rounds; r++)
        count(&tally, r % 50, 1 + r % 13, 36524);
    printf("%u leap days, %u in May, %016llx\n", tally.leap_days, tally.fridays[5],
           (unsigned long long)tally.digest);
    return 0;
}
