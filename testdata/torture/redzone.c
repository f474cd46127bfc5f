// A leaf in the red zone, flags, vector registers and the stack below rsp, under timers whose
// handlers spoil all of them. Prints sums that must be the same.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile long ticks;

static void spoil(int number) {
    char big[4096];
    memset(big, number, sizeof big);
    __asm__ volatile("pxor %%xmm0, %%xmm0\n pxor %%xmm7, %%xmm7\n pxor %%xmm15, %%xmm15\n"
                     "std\n cld\n cmp $0, %%eax\n stc" : : "m"(big) : "xmm0", "xmm7", "xmm15", "cc");
    ticks++;
}

// Everything in the red zone; no branch.
__attribute__((noinline, naked)) uint64_t straight_300000_leaf(uint64_t a) {
    __asm__("mov %rdi, -8(%rsp)\n"
            "movq %rdi, %xmm7\n"
            "imul $0x1e3779b1, %rdi, %rax\n"
            "mov %rax, -128(%rsp)\n"
            "movq %rax, %xmm15\n"
            "cmp %rax, %rdi\n"
            "lahf\n"
            "mov -128(%rsp), %rcx\n"
            "setb %dl\n"
            "rcl $1, %rcx\n"
            "mov %rcx, -64(%rsp)\n"
            "movq %xmm7, %rax\n"
            "add -8(%rsp), %rax\n"
            "adc -64(%rsp), %rax\n"
            "movzx %dl, %edx\n"
            "add %rdx, %rax\n"
            "movq %xmm15, %rcx\n"
            "xor %rcx, %rax\n"
            "ret");
}

// Flags over a loop with a branch in it, and a string instruction.
__attribute__((noinline)) static uint64_t carry(uint64_t a) {
    uint64_t result, scratch[8];
    __asm__ volatile("mov $8, %%ecx\n mov %1, %%rax\n lea %2, %%rdi\n rep stosq\n"
                     "mov $16, %%ecx\n xor %%eax, %%eax\n"
                     "1: adc %%rcx, %%rax\n rol $5, %%rax\n dec %%ecx\n jnz 1b\n mov %%rax, %0"
                     : "=r"(result) : "r"(a), "m"(scratch) : "rax", "rcx", "rdi", "cc", "memory");
    return result + scratch[7];
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = spoil;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGVTALRM, &action, 0);
    struct itimerval timer = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &timer, 0);
    setitimer(ITIMER_VIRTUAL, &timer, 0);
    uint64_t sum = 1;
    double real = 1;
    for (int i = 0; i < 300000; i++) {
        sum = straight_300000_leaf(sum);
        if (i % 16 == 0) sum += carry(sum);
        real = real * 1.0000001 + 1.0 / (i + 1);
    }
    printf("%lx %.17g\n", sum, real);
    return 0;
}
