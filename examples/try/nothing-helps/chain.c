// One chain of dependent multiplications: neither compiler nor allocator has anything to gain here.
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 50000000;
    unsigned long value = 88172645463325253ul;
    for (unsigned long round = 0; round < rounds; round++) value = value * 6364136223846793005ul + 1442695040888963407ul;
    printf("%lu\n", value);
    return 0;
}
