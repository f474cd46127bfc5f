// Ends in the way that its argument names, after work that is counted.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sum;
__attribute__((noinline)) void straight_5000_work(long i) { sum += i * 3; }

static void *ends_all(void *data) { exit(21); return data; }
static void *ends_raw(void *data) { syscall(SYS_exit_group, 22); return data; }
static void *ends_late(void *data) { usleep(2000); puts("late"); fflush(stdout); return data; }
static void *crashes(void *data) { *(volatile int *)8 = 1; return data; }
static void bye(void) { puts("atexit"); }

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return";
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (long i = 0; i < 5000; i++) straight_5000_work(i);
    atexit(bye);
    printf("%s %ld\n", how, sum);
    fflush(stdout);
    pthread_t thread;
#define IS(name) if (!strcmp(how, name))
    IS("return") return 3;
    IS("exit") exit(4);
    IS("_exit") _exit(5);
    IS("quick_exit") quick_exit(6);
    IS("exit_group") syscall(SYS_exit_group, 7);
    IS("raw-exit") syscall(SYS_exit, 8);
    IS("abort") abort();
    IS("segv") { *(volatile int *)4 = 1; }
    IS("jump-null") ((void (*)(void))0)();
    IS("fpe") { volatile int zero = 0; sum = 1 / zero; }
    IS("ill") __asm__ volatile("ud2");
    IS("trap") __asm__ volatile("int3");
    IS("hlt") __asm__ volatile("hlt");
    IS("raise-trap") raise(SIGTRAP);
    IS("raise-ill") raise(SIGILL);
    IS("raise-sys") raise(SIGSYS);
    IS("term") kill(getpid(), SIGTERM);
    IS("kill") kill(getpid(), SIGKILL);
    IS("alarm") { alarm(1); ualarm(1000, 0); for (;;) pause(); }
    IS("xcpu") raise(SIGXCPU);
    IS("blocked-segv") {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, 0);
        *(volatile int *)4 = 1;
    }
    IS("ignored-segv") { signal(SIGSEGV, SIG_IGN); *(volatile int *)4 = 1; }
    IS("thread-exit") { pthread_create(&thread, 0, ends_all, 0); pause(); }
    IS("thread-raw") { pthread_create(&thread, 0, ends_raw, 0); pause(); }
    IS("thread-segv") { pthread_create(&thread, 0, crashes, 0); pause(); }
    IS("main-first") { pthread_create(&thread, 0, ends_late, 0); pthread_exit(0); }
    IS("stack") { char *low = __builtin_alloca(1); for (;;) { low -= 1024; *(volatile char *)low = 1; } }
    IS("exec") execl("/bin/sh", "sh", "-c", "echo executed; exit 9", (char *)0);
    IS("exec-fails") { execl("/not/there", "x", (char *)0); return 10; }
    return 99;
}
