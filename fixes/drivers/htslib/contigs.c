/* Adds the lines of many reference sequences to a header, with htslib: contigs COUNT. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/vcf.h"

int main(int argc, char **argv) {
    bcf_hdr_t *header = bcf_hdr_init("w");
    for (int i = 0; i < (argc == 2 ? atoi(argv[1]) : 0); i++) {
        char line[64];
        snprintf(line, sizeof line, "##contig=<ID=scaffold%d,length=%d>", i, 1000 + i % 77);
        if (bcf_hdr_append(header, line) != 0) return 1;
    }
    printf("%d\n", header->nhrec);
    bcf_hdr_destroy(header);
    return 0;
}
