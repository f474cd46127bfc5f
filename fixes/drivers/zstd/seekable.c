/* Packs a file as frames that can be reached one by one, with zstd: seekable FILE FRAME-BYTES LEVEL. */
#include <stdio.h>
#include <stdlib.h>

#include "zstd_seekable.h"

int main(int argc, char **argv) {
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0) return 2;
    size_t size = ftell(file);
    char *content = malloc(size), *packed = malloc(2 * size);
    rewind(file);
    if (!content || !packed || fread(content, 1, size, file) != size) return 1;
    ZSTD_seekable_CStream *stream = ZSTD_seekable_createCStream();
    if (ZSTD_isError(ZSTD_seekable_initCStream(stream, atoi(argv[3]), 1, atoi(argv[2])))) return 1;
    ZSTD_inBuffer from = {content, size, 0};
    ZSTD_outBuffer to = {packed, 2 * size, 0};
    while (from.pos < from.size)
        if (ZSTD_isError(ZSTD_seekable_compressStream(stream, &to, &from))) return 1;
    if (ZSTD_seekable_endStream(stream, &to) != 0) return 1;
    printf("%d\n", to.pos > 0);
    ZSTD_seekable_freeCStream(stream);
    return 0;
}
