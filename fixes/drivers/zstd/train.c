/* Makes a dictionary from the lines of a file by the cover method: train FILE. */
#define ZDICT_STATIC_LINKING_ONLY
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zdict.h"

enum { MOST = 1 << 20, ROOM = 1 << 26, DICTIONARY_BYTES = 100 << 10 };

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) return 2;
    char *samples = malloc(ROOM), *dictionary = malloc(DICTIONARY_BYTES);
    size_t *sizes = malloc(MOST * sizeof *sizes), used = 0;
    unsigned count = 0;
    while (count < MOST && used + 4096 < ROOM && fgets(samples + used, 4096, file)) used += sizes[count++] = strlen(samples + used);
    COVER_params_t parameters = {0};
    parameters.k = 64;
    parameters.d = 8;
    parameters.dictID = 1;
    size_t const made = COVER_trainFromBuffer(dictionary, DICTIONARY_BYTES, samples, sizes, count, parameters);
    printf("%zu\n", made);
    return ZDICT_isError(made);
}
