// Waiting for signals: sigwait, sigtimedwait, signalfd, ppoll, sigqueue with values.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int handled;
static void count(int number) { handled += number; }

static void *sender(void *data) {
    for (int i = 0; i < 50; i++) sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
    return data;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 1; i <= 3; i++) sigaddset(&set, SIGRTMIN + i);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    pthread_t thread;
    pthread_create(&thread, 0, sender, 0);
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        siginfo_t info;
        int got = sigwaitinfo(&set, &info);
        sum += got - SIGRTMIN + info.si_value.sival_int;
    }
    pthread_join(thread, 0);
    printf("%ld\n", sum);
    int number;
    raise(SIGSEGV);
    sigwait(&set, &number);
    printf("%d\n", number);
    struct timespec brief = {0, 1000000};
    number = sigtimedwait(&set, 0, &brief);
    printf("%d %d\n", number, errno);
    int fd = signalfd(-1, &set, 0);
    for (int i = 0; i < 5; i++) sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = i * i});
    struct signalfd_siginfo infos[5];
    printf("%ld ", (long)read(fd, infos, sizeof infos));
    for (int i = 0; i < 5; i++) printf("%d ", infos[i].ssi_int);
    printf("\n");
    signal(SIGUSR1, count);
    kill(getpid(), SIGUSR1);
    sigset_t none;
    sigemptyset(&none);
    number = ppoll(0, 0, 0, &none);
    printf("%d %d %d\n", number, errno, handled);
    int clock = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    timerfd_settime(clock, 0, &soon, 0);
    unsigned long expired;
    long got = read(clock, &expired, 8);
    printf("%ld %ld\n", got, expired);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    event.sigev_value.sival_int = 42;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, 0);
    siginfo_t info;
    number = sigwaitinfo(&set, &info);
    printf("%d %d\n", number - SIGRTMIN, info.si_value.sival_int);
    return 0;
}
