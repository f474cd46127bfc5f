/* Functions of known growth: constant, log n, n, n log n, n² and n³. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static volatile uint64_t sink;

APART static void constant(void) {
    for (int i = 0; i < 5000; i++) sink += i;
}

APART static void halving(uint64_t n) {
    for (; n; n >>= 1)
        for (int i = 0; i < 300; i++) sink += i;
}

APART static void linear(uint64_t n) {
    for (uint64_t i = 0; i < 100 * n; i++) sink += i;
}

APART static void sift(uint32_t *heap, uint64_t at, uint64_t n) {
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= n) return;
        if (child + 1 < n && heap[child + 1] > heap[child]) child++;
        uint32_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

APART static void quadratic(uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < i; j++) sink += j; /* quadratic */
}

APART static void cubic(uint64_t n) {
    n /= 8;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++)
            for (uint64_t k = 0; k < n; k++) sink += k;
}

int main(int argc, char **argv) {
    uint64_t n = argc > 1 ? strtoull(argv[1], 0, 10) : 64;
    uint32_t *heap = malloc((n + 1) * sizeof *heap);
    for (uint64_t i = 0; i < n; i++) heap[i] = (uint32_t)(i * 2654435761u);
    constant();
    halving(n);
    linear(n);
    for (uint64_t i = 0; i < 20 * n; i++) sift(heap, 0, n);
    quadratic(n);
    cubic(n);
    printf("%llu\n", (unsigned long long)(sink + heap[0]));
    return 0;
}
