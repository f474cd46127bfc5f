/* Closes a bank's loan book month by month: interest by product and days outstanding. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRODUCTS = 6, MAX_DAYS = 31 };

struct product {
    double yearly_rate;
    int day_base; /* 360 or 365 days a year */
};

struct loan {
    int64_t principal; /* cents */
    int64_t accrued;
    uint8_t product;
    uint8_t due_day;
};

static struct product products[PRODUCTS] = {
    {0.031, 365}, {0.042, 360}, {0.0575, 365}, {0.069, 360}, {0.099, 365}, {0.129, 365},
};

/* Growth of one unit of money within so many days, compounded each day to 1/10^9. */
static double growth(const struct product *p, int days)
{
    double factor = 1.0, daily = 1.0 + p->yearly_rate / p->day_base;
    for (int d = 0; d < days; d++) {
        factor *= daily;
        factor = (double)(int64_t)(factor * 1e9 + 0.5) / 1e9;
    }
    return factor;
}

static int64_t interest(const struct loan *loan, int month)
{
    int days = (loan->due_day + month * 3) % MAX_DAYS + 1;
    double factor = growth(&products[loan->product], days);
    return (int64_t)((double)(loan->principal + loan->accrued) * (factor - 1.0) + 0.5);
}

static void close_month(struct loan *loans, size_t count, int month)
{
    for (size_t i = 0; i < count; i++) {
        struct loan *loan = &loans[i];
        loan->accrued += interest(loan, month);
        int64_t paid = loan->principal / 120;
        if (loan->accrued > paid)
            loan->accrued -= paid;
        else
            loan->principal -= paid - loan->accrued, loan->accrued = 0;
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int months = argc > 2 ? atoi(argv[2]) : 12;
    struct loan *loans = calloc(count, sizeof *loans);
    uint32_t state = 11;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        loans[i].principal = 100000 + (state >> 8);
        loans[i].product = (state >> 5) % PRODUCTS;
        loans[i].due_day = (state >> 13) % MAX_DAYS;
    }
    for (int m = 0; m < months; m++)
        close_month(loans, count, m);
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += loans[i].principal + 3 * loans[i].accrued;
    printf("%lld\n", (long long)sum);
    free(loans);
    return 0;
}
