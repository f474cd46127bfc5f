/* An echo: each sample with those of 12 and 28 samples before. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 8192 };
static long in[N], out[N];

__attribute__((noinline)) static void echo(const long *from, long *to, long n)
{
    long ring[32] = {0};
    for (long at = 0; at < n; at++) {
        long now = from[at];
        to[at] = now + (ring[(at - 28) & 31] >> 1) + (ring[(at - 12) & 31] >> 2);
        ring[at & 31] = now;
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 12000;
    unsigned x = 1;
    for (int i = 0; i < N; i++) {
        x = x * 1664525u + 1013904223u;
        in[i] = x >> 8;
    }
    long sum = 0;
    for (int r = 0; r < rounds; r++) {
        in[r % N] ^= r;
        echo(in, out, N);
        sum = sum * 31 + out[r % N];
    }
    printf("%ld\n", sum);
}
