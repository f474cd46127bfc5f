/* Reads a file of variants and writes each of them as text again and again, with htslib: said FILE TIMES. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/vcf.h"

enum { MOST = 20000 };

int main(int argc, char **argv) {
    htsFile *file = argc == 3 ? bcf_open(argv[1], "r") : NULL;
    if (!file) return 2;
    bcf_hdr_t *header = bcf_hdr_read(file);
    bcf1_t *variants[MOST];
    size_t count = 0, length = 0;
    kstring_t text = {0, 0, NULL};
    while (count < MOST && bcf_read(file, header, variants[count] = bcf_init()) == 0) count++;
    for (int times = atoi(argv[2]); times > 0; times--)
        for (size_t i = 0; i < count; i++) {
            text.l = 0;
            if (vcf_format(header, variants[i], &text) != 0) return 1;
            length += text.l;
        }
    printf("%zu\n", length);
    hts_close(file);
    return 0;
}
