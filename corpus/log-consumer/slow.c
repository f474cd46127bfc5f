/* A thread unpacks a log; another counts its levels as blocks come. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4, BLOCK = 65536 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t blocks[SLOTS][BLOCK];
    unsigned put, taken, total;
};

static struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Each byte depends on those before. */
static uint32_t unpack(uint8_t *block, uint32_t state)
{
    for (int at = 0; at < BLOCK; at++) {
        for (int turn = 0; turn < 8; turn++)
            state = state * 1664525 + (state >> 13) + 1013904223;
        block[at] = (uint8_t)(state >> 24);
    }
    return state;
}

static void *produce(void *unused)
{
    (void)unused;
    uint32_t state = 5;
    for (unsigned number = 0; number < queue.total; number++) {
        pthread_mutex_lock(&queue.lock);
        while (queue.put - queue.taken == SLOTS)
            pthread_cond_wait(&queue.changed, &queue.lock);
        pthread_mutex_unlock(&queue.lock);
        state = unpack(queue.blocks[number % SLOTS], state);
        pthread_mutex_lock(&queue.lock);
        queue.put++;
        pthread_cond_signal(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
    }
    return NULL;
}

static void consume(unsigned long *levels)
{
    for (unsigned number = 0; number < queue.total; number++) {
        pthread_mutex_lock(&queue.lock);
        while (queue.put == number)
            pthread_cond_wait(&queue.changed, &queue.lock);
        pthread_mutex_unlock(&queue.lock);
        for (int at = 0; at < BLOCK; at++)
            levels[queue.blocks[number % SLOTS][at] >> 6]++;
        pthread_mutex_lock(&queue.lock);
        queue.taken++;
        pthread_cond_signal(&queue.changed);
        pthread_mutex_unlock(&queue.lock);
    }
}

int main(int argc, char **argv)
{
    queue.total = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    unsigned long levels[4] = {0};
    pthread_t producer;
    pthread_create(&producer, NULL, produce, NULL);
    consume(levels);
    pthread_join(producer, NULL);
    printf("%lu %lu %lu %lu\n", levels[0], levels[1], levels[2], levels[3]);
    return 0;
}
