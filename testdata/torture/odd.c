// Instructions that compilers seldom make: what a translator is likely to get wrong.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define TIMES for (int i = 0; i < 100; i++)

__attribute__((noinline, naked)) long straight_100_callpop(long a) {
    __asm__("call 1f\n1: pop %rax\n lea 1b(%rip), %rcx\n sub %rcx, %rax\n add %rdi, %rax\n ret");
}
__attribute__((noinline, naked)) long straight_100_retjump(long a) {
    __asm__("lea 1f(%rip), %rax\n push %rax\n ret\n1: lea 5(%rdi), %rax\n ret");
}
__attribute__((noinline, naked)) long straight_100_retimm(long a) {
    __asm__("push %rdi\n push %rdi\n call 2f\n ret\n2: mov 8(%rsp), %rax\n ret $16");
}
__attribute__((noinline, naked)) long straight_100_enter(long a) {
    __asm__("enter $32, $0\n mov %rdi, -8(%rbp)\n mov -8(%rbp), %rax\n leave\n ret");
}
__attribute__((noinline, naked)) long straight_100_skipreturn(long a) {
    // The callee returns behind what follows the call.
    __asm__("call 3f\n jmp 4f\n4: lea 1(%rdi), %rax\n ret\n3: addq $0, (%rsp)\n ret");
}
__attribute__((noinline, naked)) long straight_100_switchstack(long a) {
    __asm__("mov %rsp, %rdx\n lea -4096(%rsp), %rsp\n push %rdi\n pop %rax\n mov %rdx, %rsp\n ret");
}
__attribute__((noinline, naked)) long straight_100_pushrsp(long a) {
    __asm__("push %rsp\n pop %rax\n sub %rsp, %rax\n push (%rsp)\n pop %rcx\n cmp (%rsp), %rcx\n sete %cl\n"
            " movzx %cl, %ecx\n add %rcx, %rax\n ret");
}
__attribute__((noinline, naked)) long straight_100_flags(long a) {
    __asm__("pushf\n pop %rcx\n and $0x244, %ecx\n stc\n pushf\n pop %rax\n and $0x8d5, %eax\n add %rcx, %rax\n"
            " push %rax\n popf\n sbb $0, %rax\n cmc\n adc $3, %rax\n std\n pushf\n pop %rdx\n cld\n"
            " and $0x400, %edx\n add %rdx, %rax\n ret");
}

static long loops(long a) {
    long result = 0;
    __asm__ volatile("mov $10, %%ecx\n1: add %%rcx, %0\n loop 1b\n"
                     "jrcxz 2f\n add $1000, %0\n2: mov $5, %%ecx\n cmp %%ecx, %%ecx\n"
                     "3: inc %0\n cmp $3, %%ecx\n loopne 3b\n xor %%ecx, %%ecx\n jecxz 4f\n add $5000, %0\n4:"
                     : "+r"(result) : : "rcx", "cc");
    return result + a;
}

static long strings(long a) {
    char from[64], to[64];
    memset(from, 'a', 64);
    memset(to, 0, 64);
    from[20] = 'b';
    long left, end;
    __asm__ volatile("xor %%ecx, %%ecx\n rep movsb" : : "S"(from), "D"(to) : "rcx", "memory");
    __asm__ volatile("rep movsb" : : "S"(from), "D"(to), "c"(30L) : "memory");
    __asm__ volatile("repne scasb" : "=c"(left), "=D"(end) : "c"(64L), "D"(from), "a"('b'));
    long same;
    __asm__ volatile("repe cmpsb" : "=c"(same) : "c"(64L), "S"(from), "D"(to) : "memory", "cc");
    __asm__ volatile("std\n rep stosb\n cld" : : "D"(to + 63), "c"(10L), "a"('z') : "memory");
    long byte;
    __asm__ volatile("lodsb\n movzx %%al, %%eax" : "=a"(byte) : "S"(from + 20));
    __asm__ volatile("mov $0x10, %%al\n xlatb" : "=a"(end) : "b"(to) : );
    return left * 10000 + same * 100 + byte + to[0] + to[60] + (end & 255) + a;
}

static long atomics(long a) {
    __attribute__((aligned(16))) __int128 word = a;
    long memory = a, got = 5;
    __asm__ volatile("lock xadd %0, %1\n lock incq %1\n lock btsq $7, %1\n xchg %0, %1\n lock cmpxchg %2, %1"
                     : "+r"(got), "+m"(memory) : "r"(a) : "rax", "cc");
    __asm__ volatile("lock cmpxchg16b %0" : "+m"(word) : "a"(a), "d"(0L), "b"(3L), "c"(4L) : "cc");
    return got + memory + (long)word + (long)(word >> 64);
}

static long prefixes(long a) {
    long result;
    // Operand size, address size, segment, LEA with 32-bit addresses, high bytes.
    __asm__ volatile("mov %1, %%rax\n mov %%al, %%ah\n movb %%ah, %%cl\n addw $0x1234, %%ax\n lea 3(%%eax), %%rdx\n"
                     "movzx %%ah, %%ecx\n bswap %%edx\n mov %%fs:0, %%rbx\n cmp %%fs:16, %%rbx\n setne %%bl\n"
                     "movzx %%bl, %%ebx\n add %%rbx, %%rdx\n add %%rcx, %%rdx\n mov %%rdx, %0"
                     : "=r"(result) : "r"(a) : "rax", "rbx", "rcx", "rdx", "cc");
    return result;
}

static long overlapping(long a) {
    long result = a;
    // Into the middle of an instruction: b8 05 90 90 90 is a move, 90 90 90 are three others.
    __asm__ volatile("mov $3, %%ecx\n jmp 2f\n1: .byte 0xb8, 0x05\n2: .byte 0x90, 0x90, 0x90\n dec %%ecx\n jnz 1b\n"
                     "movslq %%eax, %%rax\n sub $0x90909005, %%eax\n add %%rax, %0" : "+r"(result) : : "rax", "rcx", "cc");
    return result;
}

static long numbers(long a) {
    double d = a;
    long double x = a;
    long result;
    __asm__ volatile("fld1\n fldl %1\n faddp\n fistpll %0" : "=m"(result) : "m"(d));
    for (int i = 0; i < 10; i++) x = x / 3 + 1;
    return result + (long)(x * 1000);
}

static long calls(long a) {
    // What a system call leaves in rcx and r11, and that it keeps the flags.
    long next, flags, carry, number = 39, match;
    __asm__ volatile("stc\n syscall\n1: setc %b2\n movzx %b2, %2\n mov %%r11, %1\n lea 1b(%%rip), %0\n cmp %0, %%rcx\n"
                     "sete %b4\n movzx %b4, %4"
                     : "=&r"(next), "=&r"(flags), "=&q"(carry), "+a"(number), "=&q"(match) : : "rcx", "r11", "memory");
    return carry + (flags & 1) * 2 + match * 4 + (number == getpid()) * 8 + a;
}

static volatile long steps;
static void step(int number, siginfo_t *info, void *data) {
    ucontext_t *context = data;
    steps++;
    if (steps > 3) context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    (void)number, (void)info;
}

int main(int argc, char **argv) {
    long sum = 0;
#define SHOW(name) sum = 0; TIMES sum += name(i); printf(#name " %ld\n", sum)
    SHOW(straight_100_callpop);
    SHOW(straight_100_retjump);
    SHOW(straight_100_retimm);
    SHOW(straight_100_enter);
    SHOW(straight_100_skipreturn);
    SHOW(straight_100_switchstack);
    SHOW(straight_100_pushrsp);
    SHOW(straight_100_flags);
    SHOW(loops);
    SHOW(strings);
    SHOW(atomics);
    SHOW(prefixes);
    SHOW(overlapping);
    SHOW(numbers);
    SHOW(calls);
    fflush(stdout);
    const char *more = argc > 1 ? argv[1] : "";
    if (!strcmp(more, "single-step")) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = step;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, 0);
        __asm__ volatile("pushf\n orl $0x100, (%%rsp)\n popf\n nop\n nop\n nop\n nop\n nop\n nop" : : : "memory", "cc");
        printf("steps %ld\n", steps);
    }
    if (!strcmp(more, "int80")) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
        printf("int80 %d\n", result == getpid());
    }
    if (!strcmp(more, "gs")) {
        long result;
        static long here = 77;
        __asm__ volatile("mov $158, %%eax\n mov $0x1001, %%edi\n lea %1, %%rsi\n syscall\n mov %%gs:0, %0"
                         : "=r"(result) : "m"(here) : "rax", "rcx", "r11", "rdi", "rsi", "memory");
        printf("gs %ld\n", result);
    }
    if (!strcmp(more, "gs-null")) {
        long result;
        __asm__ volatile("mov %%gs:0, %0" : "=r"(result));
        printf("not here %ld\n", result);
    }
    if (!strcmp(more, "wrgsbase")) {
        long here = 78, result;
        __asm__ volatile("wrgsbase %1\n mov %%gs:0, %0" : "=r"(result) : "r"(&here), "m"(here));
        printf("gs %ld\n", result);
    }
    if (!strcmp(more, "movgs")) {
        unsigned short zero = 0;
        __asm__ volatile("mov %0, %%gs" : : "r"(zero));
        printf("selector %d\n", zero);
    }
    if (!strcmp(more, "far")) {
        __asm__ volatile("push $0x33\n lea 1f(%%rip), %%rax\n push %%rax\n lretq\n1:" : : : "rax", "memory");
        printf("far\n");
    }
    if (!strcmp(more, "noncanonical")) {
        __asm__ volatile("mov $0x4141414141414141, %%rax\n jmp *%%rax" : : : "rax");
    }
    return 0;
}
