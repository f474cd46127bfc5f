/* Asks each read of a SAM file for its edit distance, with htslib: tags FILE TIMES. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/sam.h"

enum { MOST = 20000 };

int main(int argc, char **argv) {
    samFile *file = argc == 3 ? sam_open(argv[1], "r") : NULL;
    if (!file) return 2;
    sam_hdr_t *header = sam_hdr_read(file);
    bam1_t *reads[MOST];
    size_t count = 0;
    long sum = 0;
    while (count < MOST && sam_read1(file, header, reads[count] = bam_init1()) >= 0) count++;
    for (int times = atoi(argv[2]); times > 0; times--)
        for (size_t i = 0; i < count; i++) {
            uint8_t *tag = bam_aux_get(reads[i], "NM");
            if (tag) sum += bam_aux2i(tag);
        }
    printf("%ld\n", sum);
    sam_close(file);
    return 0;
}
