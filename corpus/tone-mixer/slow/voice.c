#include "voice.h"

static inline int32_t sample_of(struct voice *voice)
{
    int32_t level;
    voice->phase += voice->step;
    switch (voice->wave) {
    case SQUARE: level = voice->phase >> 31 ? 8191 : -8191; break;
    case SAW: level = (int32_t)(voice->phase >> 18) - 8192; break;
    default: level = (int32_t)((voice->phase ^ (uint32_t)((int32_t)voice->phase >> 31)) >> 17) - 8192;
    }
    level = level * voice->volume >> 8;
    return voice->reversed ? -level : level;
}

static inline void put(struct mixer *mixer, const struct voice *voice, uint32_t at, int32_t level)
{
    if (voice->muted || at >= mixer->count)
        return;
    if (voice->limit && level > voice->limit)
        level = voice->limit;
    if (voice->left)
        mixer->samples[2 * at] += level;
    if (voice->right)
        mixer->samples[2 * at + 1] += level;
}

void mix(struct mixer *mixer)
{
    for (uint32_t v = 0; v < mixer->voice_count; v++) {
        struct voice *voice = &mixer->voices[v];
        for (uint32_t at = 0; at < mixer->count; at++)
            put(mixer, voice, at, sample_of(voice));
    }
}
