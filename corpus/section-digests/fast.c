/* Writes a table of contents with the checksum of each section of a document. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECTION_SIZE = 20000 };

static void write_section(char *text, uint32_t number)
{
    uint32_t state = number + 1;
    for (int at = 0; at < SECTION_SIZE; at++) {
        for (int turn = 0; turn < 20; turn++)
            state = state * 1664525 + 1013904223;
        text[at] = state >> 29 ? (char)('a' + (state >> 24) % 26) : ' ';
    }
}

/* The CRC of POSIX' cksum: the bytes, then the size, lowest byte first. */
static uint32_t checksum(const char *text, size_t size)
{
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = byte << 24;
            for (int bit = 0; bit < 8; bit++)
                crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7 : 0);
            table[byte] = crc;
        }
    uint32_t crc = 0;
    for (size_t at = 0; at < size; at++)
        crc = crc << 8 ^ table[crc >> 24 ^ (uint8_t)text[at]];
    for (; size > 0; size >>= 8)
        crc = crc << 8 ^ table[crc >> 24 ^ (size & 255)];
    return ~crc;
}

int main(int argc, char **argv)
{
    uint32_t sections = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    static char text[SECTION_SIZE];
    uint64_t sum = 0;
    for (uint32_t section = 0; section < sections; section++) {
        write_section(text, section);
        sum = sum * 31 + checksum(text, SECTION_SIZE);
    }
    printf("%u sections, %016lx\n", sections, (unsigned long)sum);
    return 0;
}
