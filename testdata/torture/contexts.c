// makecontext and swapcontext, from handlers too, with timer signals meanwhile.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

static ucontext_t main_context, routines[10], leaving;
static long turns[10], sum;
static volatile long ticks;

static void tick(int number) { ticks += number; }

__attribute__((noinline)) void straight_1000_turn(int number) {
    turns[number]++;
    sum = sum * 31 + number;
}

static void routine(int number) {
    for (int turn = 0; turn < 100; turn++) {
        straight_1000_turn(number);
        swapcontext(&routines[number], &routines[(number + 1) % 10]);
    }
    setcontext(&main_context);
}

static void replace(int number, siginfo_t *info, void *data) {
    // Out of the handler to a context that was saved elsewhere.
    (void)number, (void)info, (void)data;
    setcontext(&leaving);
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &timer, 0);
    for (int number = 0; number < 10; number++) {
        getcontext(&routines[number]);
        routines[number].uc_stack.ss_sp = malloc(65536);
        routines[number].uc_stack.ss_size = 65536;
        routines[number].uc_link = &main_context;
        makecontext(&routines[number], (void (*)(void))routine, 1, number);
    }
    swapcontext(&main_context, &routines[0]);
    for (int number = 0; number < 10; number++) printf("%ld ", turns[number]);
    printf("%lx\n", sum);
    action.sa_sigaction = replace;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, 0);
    volatile int times = 0;
    getcontext(&leaving);
    if (times < 50) {
        times++;
        raise(SIGUSR1);
    }
    printf("%d\n", times);
    return 0;
}
