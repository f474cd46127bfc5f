/* Samples of a converter as volts: a kernel by hand, since it is called for every block. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 2048 };

__attribute__((noinline)) static void volts(const int *from, double *to, long n, const double *scale)
{
    __asm__ volatile(
        "movupd (%3), %%xmm1\n\t"
        "movapd %%xmm1, %%xmm0\n\t"
        "1:\n\t"
        "cvtsi2sdl (%0), %%xmm0\n\t"
        "movapd %%xmm0, %%xmm2\n\t"
        "mulsd %%xmm1, %%xmm2\n\t"
        "movsd %%xmm2, (%1)\n\t"
        "add $4, %0\n\t"
        "add $8, %1\n\t"
        "dec %2\n\t"
        "jnz 1b\n\t"
        : "+r"(from), "+r"(to), "+r"(n)
        : "r"(scale)
        : "xmm0", "xmm1", "xmm2", "memory", "cc");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200000;
    static int from[N];
    static double to[N];
    const double scale[2] = {0.125, 0.25};
    for (int i = 0; i < N; i++) from[i] = i * 7919 % 4001;
    double sum = 0;
    for (int r = 0; r < rounds; r++) {
        from[r % N] = r;
        volts(from, to, N, scale);
        sum += to[r % N];
    }
    printf("%.3f\n", sum);
}
