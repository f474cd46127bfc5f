// Handlers that repair what the fault was about and return: mprotect, registers, the address.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static char *page;
static long seen[65];
static uintptr_t at_fault, address;
static int code;

static void repair(int number, siginfo_t *info, void *data) {
    ucontext_t *context = data;
    greg_t *registers = context->uc_mcontext.gregs;
    seen[number]++;
    at_fault = registers[REG_RIP];
    address = (uintptr_t)info->si_addr;
    code = info->si_code;
    switch (number) {
    case SIGSEGV:
        if (at_fault != address && (char *)address >= page && (char *)address < page + 4096)
            mprotect(page, 4096, PROT_READ | PROT_WRITE);
        else if (registers[REG_R12] == 0)
            registers[REG_R12] = (greg_t)page; // a null pointer made whole
        else
            registers[REG_RIP] = *(greg_t *)registers[REG_RSP], registers[REG_RSP] += 8;
        break;
    case SIGFPE: registers[REG_RCX] = 3; break;
    case SIGILL: registers[REG_RIP] += 2; break;
    case SIGBUS: registers[REG_RIP] = registers[REG_RBX]; break;
    case SIGTRAP: registers[REG_RDX] = 77; break;
    }
}

// Every instruction as often as the name says: those that fault are executed when they succeed,
// once more or not depending on how one counts them, so they stand by themselves.
__attribute__((noinline)) long straight_100_before(long a) {
    asm volatile("add $1, %0\n lea (%0,%0,2), %0\n xor $9, %0" : "+r"(a));
    return a;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = repair;
    action.sa_flags = SA_SIGINFO;
    int numbers[] = {SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTRAP};
    for (int i = 0; i < 5; i++) sigaction(numbers[i], &action, 0);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += straight_100_before(i);
        mprotect(page, 4096, PROT_NONE);
        page[i] = i;
        sum += page[i] + (address == (uintptr_t)page + i);
        long got = 0;
        page[0] = 5;
        // Dead flags and registers around the fault.
        asm volatile("xor %%r12d, %%r12d\n mov $1, %%eax\n cmp $2, %%eax\n"
                     "0: movzbl (%%r12), %%ecx\n setb %%al\n movzx %%al, %%eax\n add %%rcx, %%rax\n mov %%rax, %0"
                     : "=r"(got) : : "rax", "rcx", "r12", "cc", "memory");
        sum += got;
        asm volatile("xor %%ecx, %%ecx\n mov $100, %%eax\n cltd\n idivl %%ecx\n mov %%rax, %0"
                     : "=r"(got) : : "rax", "rcx", "rdx", "cc");
        sum += got;
        asm volatile("mov $1, %%eax\n ud2\n add $1, %%eax\n mov %%rax, %0" : "=r"(got) : : "rax", "cc");
        sum += got;
        asm volatile("mov $1, %%edx\n int3\n mov %%rdx, %0" : "=r"(got) : : "rdx", "cc");
        sum += got;
    }
    printf("%ld\n", sum);
    // Code that is not there: the handler returns to the caller. Far from all code: near it may be
    // what the counter has there, which is refused (tests/native.rs).
    void (*nowhere)(void) = (void (*)(void))0x123456789560;
    page[0] = 1;
    asm volatile("mov $1, %%r12d\n call *%0" : : "r"(nowhere) : "r12", "memory");
    printf("%lx %lx %d\n", (long)at_fault, (long)address, code);
    // Not executable: made so by nobody, left the same way.
    asm volatile("mov $1, %%r12d\n call *%0" : : "r"(page) : "r12", "memory");
    printf("%d %d\n", at_fault == (uintptr_t)page, address == (uintptr_t)page);
    // Behind the end of a file.
    FILE *file = tmpfile();
    char *mapped = mmap(0, 8192, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    asm volatile("lea 1f(%%rip), %%rbx\n movb (%0), %%al\n 1:" : : "r"(mapped) : "rbx", "rax", "memory");
    printf("%d %d\n", address == (uintptr_t)mapped, code);
    for (int i = 0; i < 5; i++) printf("%d:%ld\n", numbers[i], seen[numbers[i]]);
    return 0;
}
