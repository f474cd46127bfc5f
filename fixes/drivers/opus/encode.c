/* Encodes made sound of one channel: encode SECONDS. */
#include <math.h>
#include <opus.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    enum { FRAME = 960, FRAMES_PER_SECOND = 50 };
    int seconds = argc > 1 ? atoi(argv[1]) : 10, error;
    OpusEncoder *encoder = opus_encoder_create(48000, 1, OPUS_APPLICATION_AUDIO, &error);
    opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(5));
    short sound[FRAME];
    unsigned char packet[4000];
    unsigned state = 1;
    double phase = 0;
    long bytes = 0;
    for (int frame = 0; frame < seconds * FRAMES_PER_SECOND; frame++) {
        for (int i = 0; i < FRAME; i++) {
            state = state * 1664525u + 1013904223u;
            phase += 0.02 + 0.005 * sin(frame * 0.01);
            sound[i] = 8000 * sin(phase) + 3000 * sin(3.1 * phase) + (int)(state >> 21) % 800;
        }
        bytes += opus_encode(encoder, sound, FRAME, packet, sizeof packet);
    }
    printf("%ld\n", bytes);
    return 0;
}
