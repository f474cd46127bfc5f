// Handlers that leave by siglongjmp: of a timer, of a fault, of a nested signal; setjmp besides.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf back;
static jmp_buf plain;
static volatile long sink;

static void leave(int number) { siglongjmp(back, number); }

__attribute__((noinline)) void straight_300_before(long i) { sink = i * 5; }

static __attribute__((noinline)) long deep(int depth) {
    if (depth == 0) longjmp(plain, 7);
    return deep(depth - 1) + 1;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = leave;
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGFPE, &action, 0);
    volatile long *nothing = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int faults = 0, divisions = 0;
    for (volatile int i = 0; i < 300; i++) {
        straight_300_before(i);
        if (sigsetjmp(back, 1) == 0) sink = *nothing;
        else faults++;
        volatile int zero = 0;
        int number = sigsetjmp(back, 1);
        if (number == 0) sink = 5 / zero;
        else divisions += number;
    }
    printf("%d %d\n", faults, divisions);
    int alarms = 0;
    for (volatile int i = 0; i < 30; i++) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval timer = {{0, 0}, {0, 1000}};
            setitimer(ITIMER_REAL, &timer, 0);
            for (;;) sink++;
        }
        alarms++;
    }
    printf("%d\n", alarms);
    int jumps = 0;
    for (volatile int i = 0; i < 1000; i++)
        if (setjmp(plain) == 0) deep(20);
        else jumps++;
    printf("%d\n", jumps);
    return 0;
}
