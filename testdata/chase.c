/* cc -O2. chase BYTES: time of one dependent load in a working set of that size: a random cycle through
 * all cache lines of it. In CPU time: others may be busy. Prints `ns=1.234`. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64
#define ROUNDS 6000000UL

static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    size_t lines = bytes / LINE;
    if (lines < 2) {
        fprintf(stderr, "usage: chase BYTES (at least 128)\n");
        return 2;
    }
    /* Whole huge pages, so that it is the caches that are measured and not the TLB. */
    size_t whole = (bytes + (2 << 20) - 1) & ~((size_t)(2 << 20) - 1);
    char *memory = mmap(NULL, whole + (2 << 20), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    memory = (char *)(((uintptr_t)memory + (2 << 20) - 1) & ~((uintptr_t)(2 << 20) - 1));
    madvise(memory, whole, MADV_HUGEPAGE);
    uint32_t *order = malloc(lines * sizeof *order);
    if (!order) return 1;
    for (size_t i = 0; i < lines; i++) order[i] = i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = next_random() % (i + 1);
        uint32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(memory + (size_t)order[i] * LINE) = memory + (size_t)order[(i + 1) % lines] * LINE;
    free(order);
    void **place = (void **)memory;
    /* Once round, so that all is where it will stay. */
    for (size_t i = 0; i < lines; i++) place = *place;
    double start = now();
    for (size_t i = 0; i < ROUNDS; i++) place = *place;
    double seconds = now() - start;
    printf("ns=%.4f %d\n", seconds / ROUNDS * 1e9, place == NULL);
    return 0;
}
