/* A till's running totals: after every sale the basket's price is made up anew. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 12, GOODS = 64 };

struct basket {
    uint32_t goods[LINES], amount[LINES];
};

static uint32_t prices[GOODS];

/* Tenths of the price that so many pieces of one kind cost each. */
static const uint32_t tenths[] = {10, 10, 10, 9, 9};

/* Price of the basket, with a discount from the third piece of one kind on. */
static __attribute__((noinline)) uint64_t total(const struct basket *b)
{
    uint64_t sum = 0;
    for (int i = 0; i < LINES; i++) {
        uint64_t price = prices[b->goods[i]];
        sum += price * b->amount[i] * tenths[b->amount[i]] / 10;
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t sales = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    struct basket basket = {0};
    uint32_t state = 3;
    for (int g = 0; g < GOODS; g++)
        prices[g] = 99 + (uint32_t)g * 37;
    uint64_t digest = 0;
    for (size_t s = 0; s < sales; s++) {
        state = state * 1664525 + 1013904223;
        int line = (int)((uint64_t)state * LINES >> 32);
        basket.goods[line] = state >> 8 & (GOODS - 1);
        basket.amount[line] = 1 + (state >> 16 & 3);
        digest = digest * 31 + total(&basket);
    }
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
