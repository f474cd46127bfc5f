/* Works out the monthly pay of a company's staff, for a series of proposed tariffs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct employee {
    uint32_t number;
    int32_t hours;
    char surname[40], given_name[40];
    char street[48], town[32];
    int32_t grade;
    char bank_account[36];
    char tax_number[16];
    int32_t years;
    char remarks[76];
    int32_t absences[40];
    int32_t deductions;
    char doctor[60], emergency_contact[108];
    int32_t status;
};

struct payroll {
    struct employee *staff;
    uint32_t *by_department;
    size_t count;
};

struct tariff {
    int32_t hourly[16];
    int32_t bonus[2], bonus_years;
};

struct result {
    int64_t gross, net;
    uint32_t paid, with_bonus;
};

static uint32_t state = 19;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 9) % n;
}

static void hire(struct payroll *p, size_t count)
{
    p->count = count;
    p->staff = aligned_alloc(64, (sizeof *p->staff * count + 63) / 64 * 64);
    p->by_department = malloc(sizeof *p->by_department * count);
    for (size_t i = 0; i < count; i++) {
        struct employee *e = &p->staff[i];
        memset(e, 0, sizeof *e);
        e->number = (uint32_t)i;
        e->hours = 80 + (int32_t)random_below(90);
        e->grade = (int32_t)random_below(16);
        e->years = (int32_t)random_below(30);
        e->deductions = (int32_t)random_below(40000);
        e->status = random_below(100) < 96;
        memcpy(e->surname, "Lindqvist", 10);
        size_t other = random_below((uint32_t)i + 1);
        p->by_department[i] = p->by_department[other];
        p->by_department[other] = (uint32_t)i;
    }
}

static int32_t income_tax(int64_t cents)
{
    int64_t taxable = cents - 100000;
    return (int32_t)((taxable > 0 ? taxable : 0) * 18 >> 7);
}

static void pay(struct result *r, const struct employee *e, const struct tariff *t)
{
    int64_t gross = (int64_t)e->hours * t->hourly[e->grade];
    int long_service = e->years >= t->bonus_years;
    gross += (gross * t->bonus[long_service]) >> 10;
    r->with_bonus += (uint32_t)long_service;
    r->gross += gross;
    r->net += gross - income_tax(gross) - e->deductions;
    r->paid += (uint32_t)e->status;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int tariffs = argc > 2 ? atoi(argv[2]) : 4;
    struct payroll payroll;
    hire(&payroll, count);
    uint64_t digest = 0;
    for (int k = 0; k < tariffs; k++) {
        struct tariff t = {.bonus = {0, 30 + k % 5}, .bonus_years = 10 + k % 7};
        for (int g = 0; g < 16; g++)
            t.hourly[g] = 1400 + g * (110 + k);
        struct result r = {0};
        for (size_t i = 0; i < count; i++)
            pay(&r, &payroll.staff[payroll.by_department[i]], &t);
        digest = digest * 31 + (uint64_t)(r.gross ^ r.net) + r.paid + r.with_bonus;
    }
    printf("%d tariffs, %016llx\n", tariffs, (unsigned long long)digest);
    free(payroll.staff);
    free(payroll.by_department);
    return 0;
}
