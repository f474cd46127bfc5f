/* Keeps one of a header's read groups and removes all others, with htslib: groups COUNT. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/kstring.h"
#include "htslib/sam.h"

int main(int argc, char **argv) {
    int count = argc == 2 ? atoi(argv[1]) : 0;
    kstring_t text = {0, 0, NULL};
    kputs("@HD\tVN:1.6\n", &text);
    for (int i = 0; i < count; i++) ksprintf(&text, "@RG\tID:group%d\tSM:sample%d\n", i, i % 100);
    sam_hdr_t *header = sam_hdr_parse(text.l, text.s);
    if (!header || sam_hdr_remove_except(header, "RG", "ID", "group7") != 0) return 1;
    printf("%d\n", sam_hdr_count_lines(header, "RG"));
    sam_hdr_destroy(header);
    free(text.s);
    return 0;
}
