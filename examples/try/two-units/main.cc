// The caller: one small function of another translation unit, called in a tight loop.
#include <cstdio>
#include <cstdlib>

#include "mix.h"

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], nullptr, 10) : 200'000'000;
    State state{1, 0};
    for (unsigned long round = 0; round < rounds; round++)
        step(state, round);
    printf("%lu %lu\n", state.value, state.odd);
    return 0;
}
