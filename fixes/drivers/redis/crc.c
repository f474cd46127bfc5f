/* The checksum of a file, TIMES times, by redis' function: crc FILE TIMES. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "crc64.h"

void crc64_init(void) __attribute__((weak));

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0) return 2;
    long size = ftell(file);
    unsigned char *content = malloc(size);
    rewind(file);
    if (!content || fread(content, 1, size, file) != (size_t)size) return 1;
    if (crc64_init) crc64_init();
    uint64_t sum = 0;
    for (int i = atoi(argv[2]); i > 0; i--) sum = crc64(sum, content, size);
    printf("%" PRIu64 "\n", sum);
    return 0;
}
