/* Sums up sales by region with several threads and one shared table under a lock. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define REGIONS 16
#define THREADS 2

struct totals {
    pthread_mutex_t lock;
    uint64_t amount[REGIONS];
    uint64_t sales;
};

struct job {
    struct totals *totals;
    const uint32_t *sales;
    size_t n;
    pthread_t thread;
};

static void add_sale(struct totals *totals, uint32_t sale)
{
    pthread_mutex_lock(&totals->lock);
    totals->amount[sale % REGIONS] += sale >> 4;
    totals->sales++;
    pthread_mutex_unlock(&totals->lock);
}

static void *work(void *argument)
{
    struct job *job = argument;
    for (size_t i = 0; i < job->n; i++)
        add_sale(job->totals, job->sales[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], 0, 10) : 100000;
    uint32_t *sales = malloc(n * sizeof *sales), state = 1;
    struct totals totals = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct job jobs[THREADS];
    for (size_t i = 0; i < n; i++)
        sales[i] = (state = state * 1664525 + 1013904223) >> 8;
    for (int t = 0; t < THREADS; t++) {
        jobs[t] = (struct job){&totals, sales + n / THREADS * t, n / THREADS, 0};
        pthread_create(&jobs[t].thread, NULL, work, &jobs[t]);
    }
    uint64_t digest = 0;
    for (int t = 0; t < THREADS; t++)
        pthread_join(jobs[t].thread, NULL);
    for (int r = 0; r < REGIONS; r++)
        digest = digest * 31 + totals.amount[r];
    printf("%llu sales, %016llx\n", (unsigned long long)totals.sales, (unsigned long long)digest);
    free(sales);
    return 0;
}
