// Signals as fast as a timer can send them, at every place of code that uses what a
// translator needs for itself: all registers and flags, indirect calls with many targets,
// returns, string instructions, system calls, vector registers. In four threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long hits;
static long outside;
extern char __executable_start, etext;

static void hit(int number, siginfo_t *info, void *data) {
    ucontext_t *context = data;
    uintptr_t pc = context->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    // In the program, in a library, but never where nothing of the program is.
    outside += pc < 4096;
    char spoilt[512];
    memset(spoilt, 0xee, sizeof spoilt);
    __asm__ volatile("stc\n pcmpeqd %%xmm3, %%xmm3\n pcmpeqd %%xmm12, %%xmm12" : : "m"(spoilt) : "xmm3", "xmm12", "cc");
    hits++;
}

// All sixteen registers, flags over a memory operand and over an exit.
__attribute__((noinline, naked)) uint64_t straight_200000_all(uint64_t a) {
    __asm__("push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
            "mov %rdi, %rax\n mov %rdi, %rcx\n not %rcx\n lea (%rax,%rcx,4), %rdx\n mov %rdx, %rbx\n rol $7, %rbx\n"
            "mov %rbx, %rbp\n xor %rax, %rbp\n mov %rbp, %rsi\n add %rcx, %rsi\n lea 9(%rsi), %r8\n mov %r8, %r9\n"
            "imul %r8, %r9\n mov %r9, %r10\n ror $11, %r10\n mov %r10, %r11\n sub %rax, %r11\n sbb %rbx, %rcx\n"
            "adc %rbp, %rdx\n mov %rdx, %r12\n mov %r11, %r13\n xor %r12, %r13\n lea (%r13,%r9,2), %r14\n mov %r14, %r15\n"
            "cmp %r15, %r14\n adcq $5, -16(%rsp)\n mov %r14, -24(%rsp)\n add -24(%rsp), %r15\n rcr $1, %r15\n"
            "adc %rsi, %r15\n add %r8, %r15\n xor %r10, %r15\n sub %r12, %r15\n xor %r13, %r15\n add %rdi, %r15\n mov %r15, %rax\n"
            "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret");
}

#define TARGET(n) __attribute__((noinline)) uint64_t straight_25000_target##n(uint64_t a) { return (a ^ n) * 31 + n; }
TARGET(0) TARGET(1) TARGET(2) TARGET(3) TARGET(4) TARGET(5) TARGET(6) TARGET(7)
static uint64_t (*const targets[])(uint64_t) = {
    straight_25000_target0, straight_25000_target1, straight_25000_target2, straight_25000_target3,
    straight_25000_target4, straight_25000_target5, straight_25000_target6, straight_25000_target7,
};

__attribute__((noinline)) static uint64_t flagged(uint64_t a) {
    uint64_t result = a;
    __asm__ volatile("mov $20, %%ecx\n stc\n1: adc %%rcx, %0\n lea 3(%0), %0\n rol $9, %0\n dec %%ecx\n jz 2f\n jnc 1b\n jmp 1b\n2:"
                     : "+r"(result) : : "rcx", "cc");
    return result;
}

__attribute__((noinline)) static uint64_t strings(uint64_t a) {
    char from[300], to[300];
    memset(from, a, sizeof from);
    long count = sizeof from;
    char *source = from, *destination = to;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(destination), "+c"(count) : : "memory");
    return to[0] + (unsigned char)to[299] + count + (source - from);
}

__attribute__((noinline)) static uint64_t vectors(uint64_t a) {
    uint64_t result;
    __asm__ volatile("movq %1, %%xmm3\n movq %1, %%xmm12\n paddq %%xmm3, %%xmm12\n psllq $3, %%xmm3\n pxor %%xmm3, %%xmm12\n"
                     "movq %%xmm12, %0" : "=r"(result) : "r"(a) : "xmm3", "xmm12");
    return result;
}

__attribute__((noinline)) static uint64_t choice(uint64_t a) {
    switch (a % 11) {
    case 0: return a + 5;
    case 1: return a * 3;
    case 2: return a ^ 0x55;
    case 3: return ~a;
    case 4: return a - 9;
    case 5: return a << 1;
    case 6: return a >> 1;
    case 7: return a * a;
    case 8: return a + 77;
    case 9: return a | 1;
    default: return a & ~3ul;
    }
}

static uint64_t depth(uint64_t a, int n) { return n == 0 ? a : depth(a * 3 + n, n - 1) ^ n; }

static void *work(void *argument) {
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = gettid();
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    // The next comes when the one before has been taken, and not before so many nanoseconds.
    struct itimerspec soon = {{0, 13000}, {0, 13000}};
    timer_settime(timer, 0, &soon, 0);
    uint64_t sum = (uintptr_t)argument;
    for (int i = 0; i < 50000; i++) {
        sum = straight_200000_all(sum);
        sum += targets[i % 8](sum);
        sum += flagged(sum) + vectors(sum) + choice(sum);
        if (i % 8 == 0) sum += strings(sum) + depth(sum, 30);
        if (i % 16 == 0) sum += syscall(SYS_getppid) != 0;
    }
    timer_delete(timer);
    return (void *)sum;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = hit;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR1, &action, 0);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        printf("%lx\n", (long)sum);
    }
    printf("%ld\n", outside);
    return 0;
}
