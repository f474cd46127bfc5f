/* Indexes sequences and reads each of them, with htslib: index FILE TIMES. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/faidx.h"

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    size_t length = 0;
    for (int times = atoi(argv[2]); times > 0; times--) {
        if (fai_build(argv[1]) != 0) return 1;
        faidx_t *index = fai_load(argv[1]);
        for (int i = 0; i < faidx_nseq(index); i++) {
            int read = 0;
            char *sequence = fai_fetch(index, faidx_iseq(index, i), &read);
            length += read;
            free(sequence);
        }
        fai_destroy(index);
    }
    printf("%zu\n", length);
    return 0;
}
