// One chain of dependent steps that cannot be put together: neither compiler nor allocator has
// anything to gain here. (Without the shift, clang computes many steps of the chain at once.)
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 50000000;
    unsigned long value = 88172645463325253ul;
    for (unsigned long round = 0; round < rounds; round++) {
        value = value * 6364136223846793005ul + 1442695040888963407ul;
        value ^= value >> 29;
    }
    printf("%lu\n", value);
    return 0;
}
