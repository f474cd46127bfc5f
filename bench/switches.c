/* switches ROUNDS NANOSECONDS: two threads pass a byte to and fro through pipes, ROUNDS times, with
 * so much time on a CPU before each. Two context switches a round. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int to[2], from[2];
static long rounds;

static void *answers(void *unused)
{
    char byte;
    for (long i = 0; i < rounds; i++)
        if (read(to[0], &byte, 1) != 1 || write(from[1], &byte, 1) != 1)
            exit(1);
    return unused;
}

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char byte = 0;
    if (argc < 3 || pipe(to) || pipe(from))
        return 2;
    rounds = atol(argv[1]);
    if (pthread_create(&thread, NULL, answers, NULL))
        return 1;
    for (long i = 0; i < rounds; i++) {
        long end = now() + atol(argv[2]);
        while (now() < end)
            ;
        if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
            return 1;
    }
    return pthread_join(thread, NULL);
}
