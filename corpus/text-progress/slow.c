/* Lines, words and bytes of a text, by two threads whose progress others may read. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, LENGTH = 1 << 15 };

struct progress {
    _Atomic uint64_t lines, words, others;
};

static char text[LENGTH];
static struct progress progress[THREADS];
static int rounds = 1000;

/* The thread's own counter: no other thread writes to it, so that nothing need be locked. */
static void count(_Atomic uint64_t *counter)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + 1, memory_order_relaxed);
}

static void *read_part(void *argument)
{
    struct progress *mine = argument;
    const char *first = text + (mine - progress) * (LENGTH / THREADS);
    for (int r = 0; r < rounds; r++)
        for (const char *at = first; at < first + LENGTH / THREADS; at++) {
            if (*at == '\n') count(&mine->lines);
            else if (*at == ' ') count(&mine->words);
            else count(&mine->others);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    for (int i = 0; i < LENGTH; i++)
        text[i] = i % 64 == 63 ? '\n' : i % 8 == 7 ? ' ' : (char)('a' + i * 7919 % 26);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, read_part, &progress[t]);
    uint64_t lines = 0, words = 0, others = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        lines += progress[t].lines;
        words += progress[t].words;
        others += progress[t].others;
    }
    printf("%llu lines, %llu words, %llu letters\n", (unsigned long long)lines,
           (unsigned long long)words, (unsigned long long)others);
}
