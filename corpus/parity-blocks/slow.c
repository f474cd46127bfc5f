/* Restores lost blocks of a store with parities: xor within a group where one block is gone,
   weighted sums over all groups where two are. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
#define GROUP 6
#define GROUPS 2
#define DATA (GROUP * GROUPS)

struct stripe {
    uint8_t data[DATA][BLOCK];
    uint8_t local[GROUPS][BLOCK];
    uint8_t global[BLOCK];
};

static uint8_t products[256][256];
static uint32_t crc_table[256];

static void make_tables(void)
{
    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            unsigned p = 0, x = a;
            for (unsigned y = b; y; y >>= 1, x = x << 1 ^ (x & 0x80 ? 0x11d : 0))
                p ^= y & 1 ? x : 0;
            products[a][b] = (uint8_t)p;
        }
        uint32_t c = a;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
        crc_table[a] = c;
    }
}

static uint8_t inverse(uint8_t a)
{
    unsigned b = 1;
    while (products[a][b] != 1)
        b++;
    return (uint8_t)b;
}

/* to += weight * from, in the field of 256 */
static void add_scaled(uint8_t *restrict to, const uint8_t *restrict from, uint8_t weight)
{
    const uint8_t *row = products[weight];
    for (size_t i = 0; i < BLOCK; i++)
        to[i] ^= row[from[i]];
}

static uint32_t check(const uint8_t *block, size_t step)
{
    uint32_t c = ~0u;
    for (size_t i = 0; i < BLOCK; i += step)
        c = c >> 8 ^ crc_table[(c ^ block[i]) & 255];
    return ~c;
}

static uint8_t weight_of(int block)
{
    return (uint8_t)(2 + 3 * block);
}

static void encode(struct stripe *s)
{
    memset(s->local, 0, sizeof s->local);
    memset(s->global, 0, sizeof s->global);
    for (int d = 0; d < DATA; d++) {
        add_scaled(s->local[d / GROUP], s->data[d], 1);
        add_scaled(s->global, s->data[d], weight_of(d));
    }
}

static void restore_one(const struct stripe *s, int lost, uint8_t *out)
{
    memcpy(out, s->local[lost / GROUP], BLOCK);
    for (int d = lost / GROUP * GROUP; d < (lost / GROUP + 1) * GROUP; d++)
        if (d != lost)
            add_scaled(out, s->data[d], 1);
}

/* The first of two lost blocks of one group. */
static void restore_two(const struct stripe *s, int lost, int other, uint8_t *out)
{
    uint8_t both[BLOCK];
    memcpy(both, s->local[lost / GROUP], BLOCK);
    memcpy(out, s->global, BLOCK);
    for (int d = 0; d < DATA; d++) {
        if (d == lost || d == other)
            continue;
        if (d / GROUP == lost / GROUP)
            add_scaled(both, s->data[d], 1);
        add_scaled(out, s->data[d], weight_of(d));
    }
    add_scaled(out, both, weight_of(other));
    uint8_t scale = inverse(weight_of(lost) ^ weight_of(other));
    memcpy(both, out, BLOCK);
    memset(out, 0, BLOCK);
    add_scaled(out, both, scale);
}

int main(int argc, char **argv)
{
    int stripes = argc > 1 ? atoi(argv[1]) : 8;
    int losses = argc > 2 ? atoi(argv[2]) : 100;
    make_tables();
    struct stripe *store = calloc((size_t)stripes, sizeof *store);
    uint32_t state = 6, wrong = 0, sum = 0;
    for (int i = 0; i < stripes; i++) {
        for (int d = 0; d < DATA; d++)
            for (int b = 0; b < BLOCK; b++) {
                state = state * 1664525 + 1013904223;
                store[i].data[d][b] = (uint8_t)(state >> 24);
            }
        encode(&store[i]);
    }
    uint8_t out[BLOCK];
    for (int l = 0; l < losses; l++) {
        state = state * 1664525 + 1013904223;
        const struct stripe *s = &store[(state >> 8) % (uint32_t)stripes];
        int lost = (int)(state >> 26) % DATA, other = lost ^ 1;
        if ((state >> 20) % 50 == 0)
            restore_two(s, lost, other, out);
        else
            restore_one(s, lost, out);
        wrong += memcmp(out, s->data[lost], BLOCK) != 0;
        sum = sum * 31 + check(out, 4);
    }
    printf("%u wrong, %08x\n", wrong, sum);
    free(store);
    return 0;
}
