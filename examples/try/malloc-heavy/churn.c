// Nothing but small blocks of changing sizes, many alive at once, freed in another order than they came.
#include <stdio.h>
#include <stdlib.h>

enum { ALIVE = 1 << 16 };

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000;
    static unsigned char *blocks[ALIVE];
    unsigned long random = 88172645463325252ul, sum = 0;
    for (unsigned long round = 0; round < rounds; round++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        unsigned place = random % ALIVE;
        if (blocks[place]) sum += blocks[place][0], free(blocks[place]);
        size_t size = 1040 + (random >> 40) % 8000;
        if (!(blocks[place] = malloc(size))) return 1;
        blocks[place][0] = (unsigned char)round;
    }
    printf("%lu\n", sum);
    return 0;
}
