/* Multi-precision integers: multiplication by a word, and text in any base. */
#ifndef BIGNUM_H
#define BIGNUM_H
#include <stddef.h>
#include <stdint.h>

struct bignum {
    uint32_t *limb;
    size_t used;
};

struct writer {
    uint64_t chunk;     /* largest power of the base below 2^31 */
    int chunk_digits;
    uint32_t base;
    char *text;
    size_t at;
};

void bignum_multiply(struct bignum *n, uint32_t factor);
void bignum_to_text(struct bignum *n, struct writer *w);
#endif
