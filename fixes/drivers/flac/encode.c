/* Encodes made sound of two channels at the default level: encode SECONDS. */
#include "FLAC/stream_encoder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long bytes_written;

static FLAC__StreamEncoderWriteStatus write_nothing(const FLAC__StreamEncoder *encoder, const FLAC__byte buffer[],
                                                    size_t bytes, uint32_t samples, uint32_t frame, void *data) {
    (void)encoder, (void)buffer, (void)samples, (void)frame, (void)data;
    bytes_written += bytes;
    return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}

int main(int argc, char **argv) {
    enum { RATE = 44100 };
    int seconds = argc > 1 ? atoi(argv[1]) : 60;
    FLAC__int32 *sound = malloc(2 * RATE * sizeof *sound);
    FLAC__StreamEncoder *encoder = FLAC__stream_encoder_new();
    FLAC__stream_encoder_set_compression_level(encoder, 5);
    FLAC__stream_encoder_set_do_md5(encoder, 0);
    FLAC__stream_encoder_init_stream(encoder, write_nothing, 0, 0, 0, 0);
    unsigned state = 1;
    double phase = 0;
    for (int second = 0; second < seconds; second++) {
        for (int i = 0; i < RATE; i++) {
            state = state * 1664525u + 1013904223u;
            phase += 0.03 + 0.01 * sin(i * 0.0001 + second);
            int noise = (int)(state >> 20) % 600 - 300;
            sound[2 * i] = (int)(9000 * sin(phase)) + noise;
            sound[2 * i + 1] = (int)(7000 * sin(phase * 1.01)) + noise / 2;
        }
        FLAC__stream_encoder_process_interleaved(encoder, sound, RATE);
    }
    FLAC__stream_encoder_finish(encoder);
    printf("%lu\n", bytes_written);
    return 0;
}
