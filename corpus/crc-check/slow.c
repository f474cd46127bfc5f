/* Checks packets by CRC-32, one table look-up a byte. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t table[256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
        table[i] = c;
    }
}

static uint32_t crc32(uint32_t crc, const uint8_t *data, size_t n)
{
    crc = ~crc;
    for (; n; n--)
        crc = table[(crc ^ *data++) & 255] ^ crc >> 8;
    return ~crc;
}

struct packet {
    uint32_t length;
    uint32_t crc;
    uint8_t body[1500];
};

int main(int argc, char **argv)
{
    int packets = argc > 1 ? atoi(argv[1]) : 100, rounds = argc > 2 ? atoi(argv[2]) : 100;
    struct packet *p = calloc((size_t)packets, sizeof *p);
    uint32_t state = 1;
    make_table();
    for (int i = 0; i < packets; i++) {
        p[i].length = 1000 + (state >> 8) % 500;
        for (uint32_t b = 0; b < p[i].length; b++)
            p[i].body[b] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
        p[i].crc = crc32(0, p[i].body, p[i].length);
    }
    unsigned long good = 0, bad = 0;
    for (int r = 0; r < rounds; r++) {
        p[r % packets].body[r % 1000] ^= r % 5 == 0;
        for (int i = 0; i < packets; i++)
            if (crc32(0, p[i].body, p[i].length) == p[i].crc)
                good++;
            else
                bad++;
    }
    printf("%lu good, %lu bad, %08x\n", good, bad, p[packets - 1].crc);
    free(p);
    return 0;
}
