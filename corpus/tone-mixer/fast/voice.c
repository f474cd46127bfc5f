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

/* What is heard on both sides, without a limit: the samples are read and written once each. */
static void mix_saw(struct mixer *mixer, struct voice *voice)
{
    const uint32_t step = voice->step, count = mixer->count;
    const int32_t volume = voice->volume;
    int32_t *samples = mixer->samples;
    uint32_t phase = voice->phase;
    for (uint32_t at = 0; at < count; at++) {
        phase += step;
        int32_t level = ((int32_t)(phase >> 18) - 8192) * volume >> 8;
        samples[2 * at] += level;
        samples[2 * at + 1] += level;
    }
    voice->phase = phase;
}

void mix(struct mixer *mixer)
{
    for (uint32_t v = 0; v < mixer->voice_count; v++) {
        struct voice *voice = &mixer->voices[v];
        if (voice->wave == SAW && !voice->muted && !voice->reversed && !voice->limit && voice->left && voice->right) {
            mix_saw(mixer, voice);
            continue;
        }
        for (uint32_t at = 0; at < mixer->count; at++)
            put(mixer, voice, at, sample_of(voice));
    }
}
