/* Named threads with unequal shares of the work: thread i of n does i+1 parts.
 * Built with -g -O2 -pthread.   threads [threads=3] [millions=200] */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 64

struct job {
    unsigned parts;
    uint64_t rounds, result;
};

__attribute__((noinline)) static uint64_t mix(uint64_t rounds, uint64_t seed)
{
    for (uint64_t i = 0; i < rounds; i++)
        seed = (seed ^ (seed >> 31)) * 0x9e3779b97f4a7c15ull;
    return seed;
}

static void *work(void *argument)
{
    struct job *job = argument;
    for (unsigned i = 0; i < job->parts; i++)
        job->result += mix(job->rounds, i + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
    uint64_t rounds = (argc > 2 ? strtoull(argv[2], NULL, 10) : 200) * 1000000, sum = 0;
    pthread_t threads[MOST];
    struct job jobs[MOST];
    if (n < 1 || n > MOST)
        return 2;
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        jobs[i] = (struct job){.parts = i + 1, .rounds = rounds};
        if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0)
            return 1;
        snprintf(name, sizeof name, "worker-%u", i);
        pthread_setname_np(threads[i], name);
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += jobs[i].result;
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
