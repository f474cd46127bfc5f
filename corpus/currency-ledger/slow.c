/* Posts journal entries to accounts, each amount converted to the ledger's currency exactly. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct rate {
    int64_t numerator, denominator;
};

struct entry {
    uint32_t debit, credit;
    uint16_t currency, rate_day;
    int64_t amount; /* smallest unit of its currency */
};

struct ledger {
    int64_t *balance;
    uint64_t *posted;
    size_t accounts;
    struct rate rates[8];
};

/* amount × numerator ÷ denominator, rounded half away from zero, without overflow between. */
static int64_t convert(int64_t amount, const struct rate *rate)
{
    __int128 product = (__int128)amount * rate->numerator;
    __int128 half = rate->denominator / 2;
    return (int64_t)((product + (product < 0 ? -half : half)) / rate->denominator);
}

static void post(struct ledger *l, const struct entry *e)
{
    int64_t amount = convert(e->amount, &l->rates[e->currency]);
    l->balance[e->debit] -= amount;
    l->balance[e->credit] += amount;
    l->posted[e->debit]++;
    l->posted[e->credit]++;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct ledger l = {.accounts = 2000};
    l.balance = calloc(l.accounts, sizeof *l.balance);
    l.posted = calloc(l.accounts, sizeof *l.posted);
    l.rates[0] = (struct rate){1, 1};
    for (int c = 1; c < 8; c++)
        l.rates[c] = (struct rate){1000000 + 40123 * c, 1000000};
    struct entry *entries = calloc(count, sizeof *entries);
    uint32_t state = 7;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        entries[i].debit = (state >> 7) % l.accounts;
        entries[i].credit = (state >> 17) % l.accounts;
        entries[i].currency = state % 97 == 0 ? 1 + (state >> 12) % 7 : 0;
        entries[i].amount = (int64_t)(state >> 10) - 1000000;
    }
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < count; i++)
            post(&l, &entries[i]);
    uint64_t sum = 0;
    for (size_t a = 0; a < l.accounts; a++)
        sum = sum * 31 + (uint64_t)l.balance[a] + l.posted[a];
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
