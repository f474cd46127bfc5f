/* Sound samples go through stages, a thread each, that hand over a buffer by semaphores. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 3, BUFFER = 1024 };

struct stage {
    sem_t full, empty;
    int32_t samples[BUFFER];
    int32_t poles[16];
    int number;
    struct stage *next;
};

static unsigned buffers;
static struct stage stages[STAGES + 1];

static void filter(int32_t *samples, int32_t *poles, int gain)
{
    for (int at = 0; at < BUFFER; at++) {
        int32_t sample = samples[at];
        for (int pole = 0; pole < 16; pole++)
            sample = poles[pole] += (sample - poles[pole]) * gain / 16;
        samples[at] = sample;
    }
}

static void pass_on(struct stage *next, const int32_t *samples)
{
    sem_wait(&next->empty);
    for (int at = 0; at < BUFFER; at++)
        next->samples[at] = samples[at];
    sem_post(&next->full);
}

static void *run_stage(void *argument)
{
    struct stage *stage = argument;
    for (unsigned buffer = 0; buffer < buffers; buffer++) {
        sem_wait(&stage->full);
        filter(stage->samples, stage->poles, 5 + stage->number);
        pass_on(stage->next, stage->samples);
        sem_post(&stage->empty);
    }
    return NULL;
}

/* Feeds the first stage with noise. */
static void *feed(void *unused)
{
    (void)unused;
    uint32_t state = 3;
    for (unsigned buffer = 0; buffer < buffers; buffer++) {
        int32_t samples[BUFFER];
        for (int at = 0; at < BUFFER; at++) {
            state = state * 1664525 + 1013904223;
            samples[at] = (int32_t)(state >> 16) - 32768;
        }
        pass_on(&stages[0], samples);
    }
    return NULL;
}

static uint64_t listen_to(struct stage *last)
{
    uint64_t sum = 0;
    for (unsigned buffer = 0; buffer < buffers; buffer++) {
        sem_wait(&last->full);
        for (int at = 0; at < BUFFER; at++)
            sum = sum * 31 + (uint32_t)last->samples[at];
        sem_post(&last->empty);
    }
    return sum;
}

int main(int argc, char **argv)
{
    /* Samples of a run; buffers hold a part of them each. */
    buffers = (argc > 1 ? (unsigned)atoi(argv[1]) : 1000000) / BUFFER;
    pthread_t threads[STAGES + 1];
    for (int s = 0; s <= STAGES; s++) {
        stages[s].number = s;
        stages[s].next = &stages[s + 1];
        sem_init(&stages[s].full, 0, 0);
        sem_init(&stages[s].empty, 0, 1);
    }
    for (int s = 0; s < STAGES; s++)
        pthread_create(&threads[s], NULL, run_stage, &stages[s]);
    pthread_create(&threads[STAGES], NULL, feed, NULL);
    uint64_t sum = listen_to(&stages[STAGES]);
    for (int s = 0; s <= STAGES; s++)
        pthread_join(threads[s], NULL);
    printf("%016lx\n", (unsigned long)sum);
    return 0;
}
