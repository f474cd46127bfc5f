// Children by every road: fork, vfork, posix_spawn, system, popen, clone, clone3.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char stack[65536] __attribute__((aligned(16)));

static int ended(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, __WALL) < 0 && errno == EINTR) {}
    return status;
}

static int own(void *argument) { return 40 + *(int *)argument; }

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    char *arguments[] = {"sh", "-c", "exit 7", 0};
    volatile int shared = 0;
    for (int i = 0; i < 5; i++) {
        pid_t child = vfork();
        if (child == 0) {
            shared++;
            execv("/bin/sh", arguments);
            _exit(1);
        }
        printf("vfork %x\n", ended(child));
        child = vfork();
        if (child == 0) {
            shared++;
            execv("/not/there", arguments);
            shared += errno;
            _exit(3);
        }
        printf("vfork %x\n", ended(child));
        child = fork();
        if (child == 0) {
            shared += 100;
            _exit(i);
        }
        printf("fork %x\n", ended(child));
        posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ);
        printf("spawn %x\n", ended(child));
        printf("spawn of nothing %d\n", posix_spawn(&child, "/not/there", 0, 0, arguments, environ));
        printf("system %x\n", system("exit 5"));
        FILE *pipe = popen("echo through a pipe; exit 4", "r");
        char line[80] = "";
        fgets(line, sizeof line, pipe);
        int status = pclose(pipe);
        printf("popen %s%x\n", line, status);
        int number = i;
        child = clone(own, stack + sizeof stack, SIGCHLD, &number);
        printf("clone %x\n", ended(child));
        child = clone(own, stack + sizeof stack, SIGCHLD | CLONE_VFORK | CLONE_VM, &number);
        printf("clone vfork %x\n", ended(child));
        struct clone_args with;
        memset(&with, 0, sizeof with);
        with.exit_signal = SIGCHLD;
        child = syscall(SYS_clone3, &with, sizeof with);
        if (child == 0) _exit(11);
        printf("clone3 %x\n", ended(child));
        long got = syscall(SYS_clone3, &with, 8);
        printf("clone3 wrong %ld %d\n", got, errno);
        got = syscall(SYS_clone3, 8, sizeof with);
        printf("clone3 nowhere %ld %d\n", got, errno);
        child = vfork();
        if (child == 0) { kill(getpid(), SIGSEGV); _exit(0); }
        printf("killed %x\n", ended(child) & 0xff7f);
        child = fork();
        if (child == 0) { volatile int zero = 0; _exit(1 / zero); }
        printf("killed %x\n", ended(child) & 0xff7f);
    }
    printf("%d\n", shared);
    return 0;
}
