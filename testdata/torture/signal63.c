// Signal 63, which the engine's timers of bursts use: whatever the program does with it, it finds only
// its own. It computes between the steps, so that timers fire.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NUMBER 63
static volatile unsigned long work;
static volatile int handled, values;
static sigset_t only, all, none;

__attribute__((noinline)) static void compute(void) {
    for (int i = 0; i < 2000000; i++) work = work * 3 + i;
}
static void handler(int number, siginfo_t *info, void *context) {
    handled++;
    values = values * 10 + info->si_value.sival_int;
    compute();
}
static void send(int value) { sigqueue(getpid(), NUMBER, (union sigval){.sival_int = value}); }
static void to_thread(int value) { pthread_sigqueue(pthread_self(), NUMBER, (union sigval){.sival_int = value}); }
static int pending(void) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, NUMBER);
}
static int take(void) {
    siginfo_t info;
    struct timespec now = {0, 0};
    int number = sigtimedwait(&only, &info, &now);
    return number < 0 ? -1 : info.si_value.sival_int;
}
static void set_handler(int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigfillset(&action.sa_mask);
    sigaction(NUMBER, &action, 0);
}
static void show(const char *what) {
    struct sigaction action;
    sigset_t mask;
    sigaction(NUMBER, 0, &action);
    pthread_sigmask(SIG_BLOCK, 0, &mask);
    printf("%s: %d %d, %s %x, blocked %d, pending %d\n", what, handled, values,
           action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "handled",
           action.sa_flags & ~0x04000000, sigismember(&mask, NUMBER), pending());
    handled = values = 0;
}

// Blocks every signal, computes, and waits for any.
static void *waits(void *data) {
    siginfo_t info;
    pthread_sigmask(SIG_SETMASK, &all, 0);
    compute();
    struct timespec brief = {0, 2000000};
    printf("thread: %d", sigtimedwait(&all, &info, &brief));
    to_thread(8);
    compute();
    int number = sigwaitinfo(&all, &info);
    printf(" %d %d %d\n", number, info.si_value.sival_int, pending());
    return data;
}

int main(void) {
    sigemptyset(&none);
    sigfillset(&all);
    sigemptyset(&only);
    sigaddset(&only, NUMBER);
    compute();
    show("begin");

    // Blocked: nothing is pending but what is sent, in order.
    sigprocmask(SIG_BLOCK, &only, 0);
    for (int i = 0; i < 5; i++) {
        compute();
        if (pending() || take() != -1) printf("something was pending\n");
    }
    for (int i = 1; i < 5; i++) to_thread(i);
    compute();
    printf("taken:");
    for (int i = 0; i < 5; i++) printf(" %d", take());
    printf("\n");
    int fd = signalfd(-1, &only, SFD_NONBLOCK);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    struct signalfd_siginfo info;
    compute();
    printf("signalfd: %d %ld", poll(&poll_fd, 1, 2), (long)read(fd, &info, sizeof info));
    send(6);
    send(7);
    printf(" %d", poll(&poll_fd, 1, 1000));
    while (read(fd, &info, sizeof info) == sizeof info) printf(" %d", info.ssi_int);
    printf("\n");
    show("blocked");

    // Handled: as often as it is sent, and pending while it is handled.
    set_handler(0);
    send(1);
    compute();
    show("not yet");
    sigprocmask(SIG_UNBLOCK, &only, 0);
    for (int i = 2; i < 6; i++) { send(i); compute(); }
    show("handled");
    set_handler(SA_RESETHAND | SA_RESTART);
    compute();
    show("once");
    send(3);
    compute();
    show("reset");

    // A call that waits with another mask is interrupted by what is sent only.
    sigprocmask(SIG_BLOCK, &only, 0);
    set_handler(0);
    compute();
    struct timespec brief = {0, 2000000};
    printf("ppoll: %d", ppoll(0, 0, &brief, &none));
    compute();
    send(9);
    printf(" %d", sigsuspend(&none));
    printf(" %d\n", errno == EINTR);
    show("suspended");

    // A timer of its own with the same signal.
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = NUMBER};
    event.sigev_value.sival_int = 4;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &(struct itimerspec){{0, 0}, {0, 1000000}}, 0);
    siginfo_t got;
    sigwaitinfo(&only, &got);
    printf("timer: %d %d\n", got.si_code == SI_TIMER, got.si_value.sival_int);

    // Ignored, and not ignored any more.
    signal(NUMBER, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &only, 0);
    send(1);
    compute();
    show("ignored");
    set_handler(SA_NODEFER);
    compute();
    send(2);
    show("again");

    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    pthread_join(thread, 0);

    // In a child, and after execution of another program, as natively.
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        compute();
        sigprocmask(SIG_BLOCK, &only, 0);
        compute();
        show("child");
        fflush(stdout);
        signal(NUMBER, SIG_DFL);
        send(1);
        compute();
        sigprocmask(SIG_UNBLOCK, &only, 0);
        for (;;) pause();
    }
    int status;
    waitpid(child, &status, 0);
    printf("child: %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    signal(NUMBER, SIG_DFL);
    compute();
    show("default");
    fflush(stdout);
    raise(NUMBER);
    return 0;
}
