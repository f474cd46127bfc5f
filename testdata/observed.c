/* Places whose behaviour is known beforehand: a branch decided by chance, one decided by a flag,
   loads all over 8 MB, a store that nobody reads, and a call that gives the same result again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS (1u << 21)

static uint32_t *table;
static volatile uint32_t scratch;
static volatile uint32_t weights[4] = {1, 2, 3, 4};

__attribute__((noinline)) static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

__attribute__((noinline)) static uint32_t sum_of_weights(const volatile uint32_t *list, int number)
{
    uint32_t sum = 0;
    for (int i = 0; i < number; i++)
        sum += list[i];
    return sum;
}

__attribute__((noinline)) static uint64_t work(uint32_t rounds, volatile int *mode)
{
    uint32_t state = 1;
    uint64_t result = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t random = next(&state);
        if (random & 0x1000) /* toss */
            scratch = 1;
        result += table[random % ELEMENTS]; /* gather */
        scratch = random;                   /* dead */
        scratch = i;
        if (*mode) /* flag */
            scratch = 2;
        result += sum_of_weights(weights, 4); /* again */
    }
    return result;
}

int main(int argc, char **argv)
{
    volatile int mode = argc > 5;
    table = malloc(ELEMENTS * sizeof *table);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        table[i] = i;
    printf("%llu\n", (unsigned long long)work(argc > 1 ? strtoul(argv[1], 0, 10) : 1000, &mode));
    return 0;
}
