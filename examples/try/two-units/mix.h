#pragma once

struct State {
    unsigned long value;
    unsigned long odd;
};

void step(State &state, unsigned long round);
