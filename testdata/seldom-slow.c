/* Fast for 1.5 s of CPU time, slow for at least 0.3 s; asks genba for a snapshot (GENBA_PID) `requests` times, each time
 * waiting slowly for the next of the files go1, go2 …
 * Without GENBA_PID it only is fast and slow. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) void fast_request(void) {
    for (unsigned i = 0; i < 100000; i++)
        sink += i;
}

__attribute__((noinline)) void slow_request(void) {
    for (unsigned i = 0; i < 100000; i++)
        sink ^= i * 7;
}

int main(int argc, char **argv) {
    int requests = argc > 1 ? atoi(argv[1]) : 1;
    char *genba = getenv("GENBA_PID");
    while (now(CLOCK_PROCESS_CPUTIME_ID) < 1.5)
        fast_request();
    double begin = now(CLOCK_MONOTONIC);
    while (now(CLOCK_MONOTONIC) - begin < 0.3)
        slow_request();
    for (int i = 1; genba && i <= requests; i++) {
        char name[16];
        snprintf(name, sizeof name, "go%d", i);
        kill(atoi(genba), SIGUSR2);
        while (access(name, F_OK))
            slow_request();
    }
    return 0;
}
