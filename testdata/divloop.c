/* One loop, two divisions of the same operands, nothing else: where the time
 * goes is known beforehand. `digits` is not inlined, so that it has a symbol.
 * Built with -g -O2.   divloop [numbers=20000000 [base=10]] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static uint64_t digits(uint64_t n, uint64_t b)
{
    uint64_t s = 0;
    while (n) {
        s += n % b;
        n /= b;
    }
    return s;
}

int main(int argc, char **argv)
{
    uint64_t numbers = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000000;
    /* From the environment of the run, not a constant: a constant divisor
     * would become a multiplication. */
    uint64_t base = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;
    uint64_t state = 88172645463325252ull, sum = 0;
    if (base < 2)
        return 2;
    for (uint64_t i = 0; i < numbers; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += digits(state >> 20, base);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
