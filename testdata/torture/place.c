// What a process may do to its surroundings: descriptors, limits, root, memory; the argument
// names it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) long straight_2000_work(long i) { return i * i + 1; }
static long sum;

static void *thread(void *data) { sum += (long)data; return 0; }

// Code that was not executed before: everything that the engine needs for it must still work.
__attribute__((noinline)) static void afterwards(void) {
    for (long i = 0; i < 1000; i++) sum += straight_2000_work(i);
    char text[100];
    snprintf(text, sizeof text, "%ld %.3f %s", sum, 1.5 * sum, strerror(ENOENT));
    puts(text);
    fflush(stdout);
}

static int filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdir, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 55),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    mkdir("/proc/nothing", 0);
    return errno;
}

static int overflow(int n) {
    volatile char big[1024];
    big[0] = n;
    return n ? overflow(n - 1) + big[0] - big[0] + 1 : 0;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "nothing";
    printf("%s\n", how);
    fflush(stdout);
    for (long i = 0; i < 1000; i++) sum += straight_2000_work(i);
#define IS(name) if (!strcmp(how, name))
    IS("close-all") for (int fd = 3; fd < 1024; fd++) close(fd);
    IS("close-range") syscall(SYS_close_range, 3, ~0u, 0);
    IS("no-stdin") { char byte; printf("%ld\n", (long)read(0, &byte, 1)); close(0); }
    IS("nofile") { struct rlimit few = {3, 3}; setrlimit(RLIMIT_NOFILE, &few); }
    IS("exhaust") { while (dup(1) >= 0) {} printf("%d\n", errno); }
    IS("as") { struct rlimit small = {1 << 24, 1 << 24}; printf("%d\n", setrlimit(RLIMIT_AS, &small)); }
    IS("data") { struct rlimit small = {1 << 22, 1 << 22}; printf("%d\n", setrlimit(RLIMIT_DATA, &small)); }
    IS("fsize") {
        for (long i = 0; i < 1000; i++) sum += straight_2000_work(i);
        struct rlimit none = {0, 0}; printf("%d\n", setrlimit(RLIMIT_FSIZE, &none)); fflush(stdout); return sum & 7; }
    IS("nproc") { struct rlimit none = {0, 0}; printf("%d\n", setrlimit(RLIMIT_NPROC, &none)); }
    IS("sigpending") { struct rlimit none = {0, 0}; setrlimit(RLIMIT_SIGPENDING, &none); for (long i = 0; i < 1000; i++) sum += straight_2000_work(i); raise(SIGSEGV); }
    IS("chroot") { printf("%d\n", chroot("/var/empty") && chroot("/tmp")); chdir("/"); }
    IS("unshare") printf("%d\n", unshare(CLONE_NEWNS | CLONE_NEWUTS));
    IS("dumpable") printf("%d\n", prctl(PR_SET_DUMPABLE, 0));
    IS("nobody") { int failed = setgid(65534) | setuid(65534); printf("%d\n", failed); }
    IS("seccomp") printf("%d\n", filter());
    IS("seccomp-child") {
        pid_t child = fork();
        if (child == 0) _exit(filter());
        int status;
        waitpid(child, &status, 0);
        printf("%x\n", status);
    }
    IS("strict-child") {
        pid_t child = fork();
        if (child == 0) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); syscall(SYS_exit, 12); }
        int status;
        waitpid(child, &status, 0);
        printf("%x\n", status);
    }
    IS("mlockall") {
        printf("%d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        printf("%d\n", usage.ru_maxrss < 500000);
    }
    IS("maps") {
        FILE *maps = fopen("/proc/self/maps", "r");
        char line[512];
        unsigned long from, to;
        int stack = 0, own = 0;
        while (fgets(line, sizeof line, maps)) {
            if (sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
            stack += from <= (unsigned long)&from && (unsigned long)&from < to && strstr(line, "[stack]") != 0;
            own += from <= (unsigned long)main && (unsigned long)main < to && strstr(line, "r-xp") != 0;
        }
        fclose(maps);
        printf("%d %d\n", stack, own);
    }
    IS("exe") {
        char path[4096] = "";
        readlink("/proc/self/exe", path, sizeof path - 1);
        printf("%d\n", strcmp(strrchr(path, '/') + 1, strrchr(argv[0], '/') + 1));
        FILE *names[] = {fopen("/proc/self/comm", "r"), fopen("/proc/self/cmdline", "r")};
        char text[4096] = "";
        fgets(text, sizeof text, names[0]);
        printf("%s", text);
        fread(text, 1, sizeof text, names[1]);
        printf("%d\n", strcmp(text, argv[0]));
    }
    IS("tasks") {
        FILE *status = fopen("/proc/self/status", "r");
        char line[512];
        while (fgets(line, sizeof line, status))
            if (!strncmp(line, "Threads", 7) || !strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6) ||
                !strncmp(line, "TracerPid", 9) || !strncmp(line, "Seccomp:", 8)) fputs(line, stdout);
        int fds = 0;
        for (int fd = 0; fd < 1024; fd++) fds += fcntl(fd, F_GETFD) >= 0;
        printf("%d\n", fds);
    }
    IS("fixed") {
        // Over everything free in the lower part of the address space, and what is said when it
        // is not free.
        long got = 0;
        for (uintptr_t at = 0x100000000; at < 0x4000000000; at += 0x100000000)
            got += mmap((void *)at, 0x10000000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)
                   == (void *)at;
        printf("%d\n", got > 50);
    }
    IS("low") {
        char *low = mmap((void *)0x10000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        *low = 5;
        char *near = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        printf("%d %d\n", *low, near != MAP_FAILED && (uintptr_t)near < 0x80000000);
    }
    IS("big") {
        for (int i = 0; i < 20; i++) {
            char *big = mmap(0, 8ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            big[4ul << 30] = i;
            big = mremap(big, 8ul << 30, 16ul << 30, MREMAP_MAYMOVE);
            sum += big[4ul << 30];
            munmap(big, 16ul << 30);
        }
    }
    IS("personality") {
        if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
            personality(ADDR_NO_RANDOMIZE);
            execv("/proc/self/exe", argv);
            return 1;
        }
        printf("%lx\n", (long)(uintptr_t)main);
    }
    IS("memfd") {
        int from = open("/bin/echo", O_RDONLY), to = memfd_create("program", MFD_CLOEXEC);
        char bytes[65536];
        long got;
        while ((got = read(from, bytes, sizeof bytes)) > 0) write(to, bytes, got);
        char *arguments[] = {"echo", "from memory", 0}, *nothing[] = {0};
        fexecve(to, arguments, nothing);
        return 1;
    }
    IS("huge-stack") printf("%d\n", overflow(6000));
    IS("thread-exec") {
        void *execs(void *data) { execl("/bin/echo", "echo", "by a thread", (char *)0); return data; }
        pthread_t other;
        pthread_create(&other, 0, execs, 0);
        for (;;) pause();
    }
    IS("ptrace") {
        pid_t child = fork();
        if (child == 0) {
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            raise(SIGSTOP);
            raise(SIGUSR1);
            execl("/bin/true", "true", (char *)0);
        }
        int status;
        struct user_regs_struct registers;
        for (int i = 0; i < 3; i++) {
            waitpid(child, &status, 0);
            printf("%x\n", status);
            ptrace(PTRACE_GETREGS, child, 0, &registers);
            ptrace(PTRACE_CONT, child, 0, 0);
        }
        waitpid(child, &status, 0);
        printf("%x\n", status);
    }
    IS("daemon") {
        int ends[2];
        pipe(ends);
        if (fork() == 0) {
            setsid();
            if (fork() == 0) { dprintf(ends[1], "from far away\n"); _exit(0); }
            _exit(0);
        }
        close(ends[1]);
        char text[100];
        long got = read(ends[0], text, sizeof text);
        fwrite(text, 1, got, stdout);
        wait(0);
    }
    IS("threads-3000") {
        // All at the same time.
        static pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, 0, 3001);
        void *waits(void *data) { pthread_barrier_wait(&barrier); return data; }
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 16384);
        static pthread_t many[3000];
        for (int i = 0; i < 3000; i++) if (pthread_create(&many[i], &attributes, waits, 0)) return 1;
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 3000; i++) pthread_join(many[i], 0);
    }
    IS("shared-memory-process") {
        char *stack = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int body(void *data) { sum += (long)data; return 3; }
        int child = clone(body, stack + 65536, CLONE_VM | SIGCHLD, (void *)5), status;
        waitpid(child, &status, 0);
        printf("%x %ld\n", status, sum);
    }
    pthread_t other;
    if (strcmp(how, "nproc") && strcmp(how, "as") && pthread_create(&other, 0, thread, (void *)3) == 0) pthread_join(other, 0);
    afterwards();
    return 0;
}
