/* Deep recursion: call stacks longer than any sampler keeps (perf's limit is
 * 127 frames). A quarter of the time is at the top, the rest at the bottom.
 * Built with -g -O2 -fno-omit-frame-pointer.   deep [depth=1000] [rounds=3000] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void spin(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        sink += i;
}

/* The addition after the call keeps the compiler from making a loop of it. */
__attribute__((noinline)) static uint64_t descend(unsigned depth)
{
    if (depth == 0) {
        spin(300000);
        return 1;
    }
    return descend(depth - 1) + (sink & 1);
}

int main(int argc, char **argv)
{
    unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 3000;
    uint64_t sum = 0;
    if (depth > 10000)
        return 2;
    for (unsigned i = 0; i < rounds; i++) {
        spin(100000);
        sum += descend(depth);
    }
    return sum == 0;
}
