// pthread_cancel: deferred in a call, asynchronous in a loop; clean-up handlers; thread data.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int cleaned, destroyed, started;
static pthread_key_t key;

static void clean(void *argument) { cleaned += (long)argument; }
static void destroy(void *value) { destroyed += (long)value; }

static void *waiting(void *argument) {
    pthread_setspecific(key, argument);
    pthread_cleanup_push(clean, argument);
    started++;
    for (;;) pause();
    pthread_cleanup_pop(0);
}

static void *spinning(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    pthread_cleanup_push(clean, argument);
    started++;
    for (volatile long i = 0;; i++) {}
    pthread_cleanup_pop(0);
}

int main(void) {
    pthread_key_create(&key, destroy);
    int canceled = 0;
    for (long round = 0; round < 20; round++) {
        pthread_t threads[4];
        started = 0;
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, i % 2 ? waiting : spinning, (void *)1);
        while (started < 4) usleep(100);
        for (int i = 0; i < 4; i++) {
            void *result;
            pthread_cancel(threads[i]);
            pthread_join(threads[i], &result);
            canceled += result == PTHREAD_CANCELED;
        }
    }
    printf("%d %d %d\n", canceled, cleaned, destroyed);
    return 0;
}
