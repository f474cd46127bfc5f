#include "bignum.h"

static const char digit_names[] = "0123456789abcdefghijklmnopqrstuvwxyz";

void bignum_multiply(struct bignum *n, uint32_t factor)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < n->used; i++) {
        carry += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        n->limb[n->used++] = (uint32_t)carry;
}

/* Takes the lowest chunk_digits digits off the number. */
static uint64_t take_chunk(struct bignum *n, const struct writer *w)
{
    uint64_t rest = 0;
    for (size_t i = n->used; i-- > 0;) {
        uint64_t wide = rest << 32 | n->limb[i];
        n->limb[i] = (uint32_t)(wide / w->chunk);
        rest = wide % w->chunk;
    }
    while (n->used && n->limb[n->used - 1] == 0)
        n->used--;
    return rest;
}

/* Writes one chunk's digits, lowest first, into the place before w->at. */
static void write_chunk(struct writer *w, uint64_t value)
{
    for (int i = 0; i < w->chunk_digits; i++) {
        uint64_t rest = value / w->base;
        w->text[--w->at] = digit_names[value - rest * w->base];
        value = rest;
    }
}

void bignum_to_text(struct bignum *n, struct writer *w)
{
    while (n->used)
        write_chunk(w, take_chunk(n, w));
    while (w->text[w->at] == '0')
        w->at++;
}
