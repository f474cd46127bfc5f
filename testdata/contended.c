/* Threads that wait for one another: for a mutex that is held while its holder computes, or while it
 * sleeps; main waits for their end.
 * Built with -g -O1 -pthread.   contended [compute|sleep] [rounds=400] */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 3

pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ledger;
static int sleeps;
static long rounds;

__attribute__((noinline)) static uint64_t mix(uint64_t seed)
{
    for (int i = 0; i < 400000; i++)
        seed = (seed ^ (seed >> 31)) * 0x9e3779b97f4a7c15ull;
    return seed;
}

__attribute__((noinline)) static void post(void)
{
    pthread_mutex_lock(&ledger_lock);
    if (sleeps) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
        ledger++;
    } else {
        ledger = mix(ledger + 1);
    }
    pthread_mutex_unlock(&ledger_lock);
}

static void *clerk(void *unused)
{
    for (long i = 0; i < rounds; i++)
        post();
    return unused;
}

int main(int argc, char **argv)
{
    sleeps = argc > 1 && strcmp(argv[1], "sleep") == 0;
    rounds = argc > 2 ? atol(argv[2]) : 400;
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        if (pthread_create(&all[i], NULL, clerk, NULL))
            return 1;
        snprintf(name, sizeof name, "clerk-%d", i + 1);
        pthread_setname_np(all[i], name);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    printf("%llu\n", (unsigned long long)ledger);
    return 0;
}
