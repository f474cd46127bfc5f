// Nested signals, masks, alternate stacks, one-shot handlers, restarted calls.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static char alternate[65536];
static int depth, deepest, on_alternate, masks;

static void set(int number, void (*handler)(int, siginfo_t *, void *), int flags, int blocked) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = flags | SA_SIGINFO;
    if (blocked) sigaddset(&action.sa_mask, blocked);
    if (sigaction(number, &action, 0)) perror("sigaction");
}

static unsigned long mask(void) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, 0, &now);
    return *(unsigned long *)&now;
}

static void nest(int number, siginfo_t *info, void *data) {
    depth++;
    if (depth > deepest) deepest = depth;
    ucontext_t *context = data;
    printf("in %d depth %d mask %lx saved %lx code %d value %d\n", number, depth, mask(),
           *(unsigned long *)&context->uc_sigmask, info->si_code, info->si_value.sival_int);
    if (depth < 4) raise(number == SIGUSR1 ? SIGUSR2 : SIGUSR1);
    depth--;
}

static void where(int number, siginfo_t *info, void *data) {
    char here;
    on_alternate += &here >= alternate && &here < alternate + sizeof alternate;
    ucontext_t *context = data;
    printf("%d alternate %d flags %d size %ld\n", number, on_alternate,
           context->uc_stack.ss_flags, (long)context->uc_stack.ss_size);
    (void)info;
}

static void change(int number, siginfo_t *info, void *data) {
    ucontext_t *context = data;
    sigaddset(&context->uc_sigmask, SIGUSR2); // stays blocked after the return
    (void)number, (void)info;
}

static void quiet(int number, siginfo_t *info, void *data) { masks++; (void)number, (void)info, (void)data; }

static int overflow(int n) {
    volatile char big[4096];
    big[0] = n;
    return overflow(n + 1) + big[0];
}

static void too_deep(int number, siginfo_t *info, void *data) {
    (void)info, (void)data;
    char text[] = "overflow seen\n";
    write(1, text, number == SIGSEGV ? sizeof text - 1 : 1);
    _exit(9);
}

static volatile int interrupted;

static void *interrupter(void *argument) {
    pthread_t main_thread = *(pthread_t *)argument;
    while (!interrupted) {
        usleep(300);
        pthread_kill(main_thread, SIGHUP);
    }
    return 0;
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, 0);
    set(SIGUSR1, nest, SA_NODEFER, 0);
    set(SIGUSR2, nest, SA_NODEFER, SIGTERM);
    raise(SIGUSR1);
    printf("deepest %d\n", deepest);
    set(SIGUSR1, where, SA_ONSTACK, 0);
    raise(SIGUSR1);
    set(SIGUSR1, where, 0, 0);
    raise(SIGUSR1);
    set(SIGUSR1, quiet, SA_RESETHAND, 0);
    raise(SIGUSR1);
    struct sigaction old;
    sigaction(SIGUSR1, 0, &old);
    printf("reset %d flags %x\n", old.sa_handler == SIG_DFL, old.sa_flags & ~0x04000000);
    set(SIGTRAP, quiet, SA_RESETHAND, 0);
    raise(SIGTRAP);
    sigaction(SIGTRAP, 0, &old);
    printf("reset %d flags %x\n", old.sa_handler == SIG_DFL, old.sa_flags & ~0x04000000);
    set(SIGUSR1, change, 0, 0);
    raise(SIGUSR1);
    printf("mask %lx\n", mask());
    set(SIGUSR2, quiet, 0, 0);
    raise(SIGUSR2);
    sigset_t pending, none;
    sigpending(&pending);
    printf("pending %d count %d\n", sigismember(&pending, SIGUSR2), masks);
    sigemptyset(&none);
    int failed = sigsuspend(&none);
    printf("suspend %d errno %d count %d\n", failed, errno, masks);
    sigprocmask(SIG_SETMASK, &none, 0);
    // Read from a pipe goes on with SA_RESTART, and fails without.
    int ends[2];
    pipe(ends);
    for (int restart = 1; restart >= 0; restart--) {
        set(SIGHUP, quiet, restart ? SA_RESTART : 0, 0);
        pthread_t self = pthread_self(), other;
        pthread_create(&other, 0, interrupter, &self);
        if (restart) {
            pid_t child = fork();
            if (child == 0) { usleep(20000); write(ends[1], "x", 1); _exit(0); }
            char byte = 0;
            long got = read(ends[0], &byte, 1);
            printf("read %ld %c\n", got, byte);
            while (waitpid(child, 0, 0) < 0) {}
        } else {
            char byte;
            long got = read(ends[0], &byte, 1);
            printf("read %ld errno %d\n", got, errno);
        }
        interrupted = 1;
        pthread_join(other, 0);
        interrupted = 0;
    }
    // So does an open that waits.
    char fifo[] = "/tmp/genba-torture-XXXXXX";
    mkdtemp(fifo);
    char pipe_name[100];
    snprintf(pipe_name, sizeof pipe_name, "%s/pipe", fifo);
    mkfifo(pipe_name, 0600);
    set(SIGHUP, quiet, SA_RESTART, 0);
    for (int writes = 0; writes < 2; writes++) {
        pthread_t self = pthread_self(), other;
        pthread_create(&other, 0, interrupter, &self);
        pid_t child = fork();
        if (child == 0) { usleep(10000); open(pipe_name, writes ? O_RDONLY : O_WRONLY); _exit(0); }
        int opened = open(pipe_name, writes ? O_WRONLY : O_RDONLY);
        interrupted = 1;
        pthread_join(other, 0);
        interrupted = 0;
        printf("open %d\n", opened >= 0);
        close(opened);
        while (waitpid(child, 0, 0) < 0) {}
    }
    unlink(pipe_name);
    rmdir(fifo);
    // Ignored signals do not interrupt.
    int numbers[] = {SIGTRAP, SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGSYS, SIGUSR1};
    for (int i = 0; i < 7; i++) {
        signal(numbers[i], SIG_IGN);
        pid_t child = fork();
        if (child == 0) { usleep(3000); kill(getppid(), numbers[i]); _exit(0); }
        errno = 0;
        failed = 0;
        if (usleep(8000)) failed = errno;
        while (waitpid(child, 0, 0) < 0) {}
        printf("ignored %d errno %d\n", numbers[i], failed);
    }
    set(SIGSEGV, too_deep, SA_ONSTACK, 0);
    return overflow(0);
}
