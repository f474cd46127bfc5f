/* SHA-256 of a stream of blocks (FIPS 180-4). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t k[64];

/* The round constants: fractional parts of the cube roots of the first primes. */
static void make_constants(void)
{
    int n = 0;
    for (unsigned p = 2; n < 64; p++) {
        int prime = 1;
        for (unsigned d = 2; d * d <= p; d++)
            prime &= p % d != 0;
        if (!prime)
            continue;
        unsigned __int128 low = 0, high = (unsigned __int128)8 << 32;
        while (high - low > 1) {
            unsigned __int128 middle = (low + high) / 2;
            if (middle * middle * middle <= (unsigned __int128)p << 96)
                low = middle;
            else
                high = middle;
        }
        k[n++] = (uint32_t)low;
    }
}

static inline uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void compress(uint32_t h[8], const uint8_t block[64])
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) {
        memcpy(&w[i], block + 4 * i, 4);
        w[i] = __builtin_bswap32(w[i]);
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, h, sizeof s);
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], l = s[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = l + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        l = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += l;
}

int main(int argc, char **argv)
{
    long blocks = argc > 1 ? atol(argv[1]) : 10000;
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t block[64] = {0};
    make_constants();
    for (long i = 0; i < blocks; i++) {
        memcpy(block, &i, sizeof i);
        compress(h, block);
    }
    for (int i = 0; i < 8; i++)
        printf("%08x", h[i]);
    printf("\n");
    return 0;
}
