/* An echo: each sample with those of 12 and 28 samples before. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 8192 };
static long in[N], out[N];

__attribute__((noinline)) static void echo(const long *from, long *to, long n)
{
    long a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0, m = 0, o = 0;
    long p = 0, q = 0, r = 0, s = 0, t = 0, u = 0, v = 0, w = 0, x = 0, y = 0, z = 0, A = 0, B = 0, C = 0;
    for (long at = 0; at < n; at++) {
        long now = from[at];
        to[at] = now + (C >> 1) + (l >> 2);
        C = B; B = A; A = z; z = y; y = x; x = w; w = v; v = u; u = t; t = s;
        s = r; r = q; q = p; p = o; o = m; m = l; l = k; k = j; j = i; i = h;
        h = g; g = f; f = e; e = d; d = c; c = b; b = a; a = now;
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
