/* Indexes few reads of a long sequence and asks for the whole of it again and again, with htslib: regions READS TIMES. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/hts.h"
#include "htslib/sam.h"

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int const reads = atoi(argv[1]);
    long const length = 240000000;
    hts_idx_t *index = hts_idx_init(1, HTS_FMT_BAI, 0, 14, 5);
    for (int i = 0; i < reads; i++) {
        long const begin = (long)i * (length / reads);
        if (hts_idx_push(index, 0, begin, begin + 150, (uint64_t)(i + 1) << 20, 1) < 0) return 1;
    }
    hts_idx_finish(index, (uint64_t)(reads + 2) << 20);
    long parts = 0;
    for (int times = atoi(argv[2]); times > 0; times--) {
        hts_itr_t *all = sam_itr_queryi(index, 0, 0, length);
        if (!all) return 1;
        parts += all->n_off;
        hts_itr_destroy(all);
    }
    printf("%ld\n", parts);
    hts_idx_destroy(index);
    return 0;
}
