/* Aligns random reads to random references: glocal COUNT. Prints the sum of the scores. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "htslib/hts.h"

enum { READ = 150, REFERENCE = 170 };

/* A generator of our own: the same numbers everywhere (G. Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    probaln_par_t parameters = {0.0001f, 0.1f, 10};
    uint8_t reference[REFERENCE], read[READ], quality[READ], certainty[READ];
    int positions[READ];
    long sum = 0;
    for (int i = atoi(words[1]); i > 0; i--) {
        for (int k = 0; k < REFERENCE; k++) reference[k] = next() % 4;
        for (int k = 0; k < READ; k++) {
            read[k] = next() % 50 ? reference[k + 10] : next() % 4;
            quality[k] = 20 + next() % 20;
        }
        sum += probaln_glocal(reference, REFERENCE, read, READ, quality, &parameters, positions, certainty);
    }
    printf("%ld\n", sum);
    return 0;
}
