/* Unpacks the lines of a file, each packed by itself, one call each: small-frames FILE TIMES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zstd.h"

enum { MOST = 4096, LONGEST = 4096 };

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!file) return 2;
    static char line[LONGEST], unpacked[LONGEST];
    char *frames[MOST];
    size_t sizes[MOST], count = 0, length = 0;
    while (count < MOST && fgets(line, sizeof line, file)) {
        size_t const size = strlen(line), room = ZSTD_compressBound(size);
        frames[count] = malloc(room);
        sizes[count] = ZSTD_compress(frames[count], room, line, size, 1);
        count++;
    }
    fclose(file);
    for (int times = atoi(argv[2]); times > 0; times--)
        for (size_t i = 0; i < count; i++) length += ZSTD_decompress(unpacked, sizeof unpacked, frames[i], sizes[i]);
    printf("%zu\n", length);
    return 0;
}
