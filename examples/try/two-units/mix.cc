// The callee: too small for the price of a call, and out of the compiler's sight.
#include "mix.h"

void step(State &state, unsigned long round) {
    state.value += round ^ (round >> 3);
    state.odd += state.value & 1;
}
