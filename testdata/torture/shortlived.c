// 10,000 short threads, at most eight at a time, half of them detached.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_long sum;
static sem_t places;

__attribute__((noinline)) long straight_10000_body(long number) {
    return number * number % 7 + 1;
}

static void *body(void *argument) {
    sum += straight_10000_body((long)argument);
    sem_post(&places);
    return 0;
}

int main(void) {
    sem_init(&places, 0, 8);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_t last[8] = {0};
    int have[8] = {0};
    for (long number = 0; number < 10000; number++) {
        sem_wait(&places);
        int at = number % 8;
        if (have[at]) { pthread_join(last[at], 0); have[at] = 0; }
        if (pthread_create(&last[at], &attributes, body, (void *)number)) return 1;
        if (number % 2) pthread_detach(last[at]);
        else have[at] = 1;
    }
    for (int at = 0; at < 8; at++) {
        if (have[at]) pthread_join(last[at], 0);
        sem_wait(&places);
    }
    printf("%ld\n", (long)sum);
    return 0;
}
