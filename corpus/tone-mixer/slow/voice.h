// A voice of a synthesiser: an oscillator, an envelope, and how it is heard.
#pragma once
#include <stdint.h>

enum wave { SQUARE, SAW, TRIANGLE };

struct voice {
    uint32_t phase, step;
    int32_t volume;
    enum wave wave;
    uint8_t muted, left, right, reversed;
    int32_t limit;
};

struct mixer {
    int32_t *samples;
    uint32_t count;
    struct voice *voices;
    uint32_t voice_count;
};

void mix(struct mixer *mixer);
