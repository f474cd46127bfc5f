#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static size_t split(const int32_t *from, size_t n, int32_t pivot, int32_t *low, int32_t *high) {
    size_t l = 0, h = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i] < pivot)
            low[l++] = from[i];
        else
            high[h++] = from[i];
    }
    return l;
}
int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    enum { N = 100000 };
    static int32_t a[N], low[N + 1], high[N + 1];
    uint32_t x = 9;
    for (int i = 0; i < N; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; a[i] = (int32_t)(x >> 1); }
    uint64_t sum = 0;
    for (int r = 0; r < rounds; r++) sum = sum * 7 + split(a, N, (1 << 30) + r * 1000, low, high) + (uint64_t)low[r];
    printf("%llu\n", (unsigned long long)sum);
}
