// A signal at every single place: a tracer steps through code and delivers a signal after the first
// step, then after the second, and so on. Whatever a translator has put between the program's
// instructions, its handler must see only what it would see natively: every frame is printed, once.
// Not in it: the arithmetic flags, which may be anything where they are dead; what the code does
// with them is in its registers.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define CALLS 1500
#define WARM 4
#define GET_MASK 0x420a

// What program and tracer share.
struct shared {
    volatile long phase; // 1 in the code, 2 at its end
    volatile long call;
    volatile long attached;
    volatile long whole; // pieces of which every place was seen
};
static struct shared *shared;

// Every piece begins with a system call, at the end of which the tracer begins to step, and ends by
// setting the phase. No register is overwritten that has not been read.
__asm__(
    ".pushsection .text\n"
    ".macro begin\n mov $24, %eax\n syscall\n.endm\n"
    ".macro finish\n incq (%r12)\n ret\n.endm\n"
    ".globl all_begin, all_end, far_a, far_b, after_jump, one_return\n"
    "all_begin:\n"
    "one_return: add $1, %rdx\n ret\n"
    "two_returns: add $1, %rdx\n call one_return\n adc $2, %rdx\n ret\n"
    "return_16: add $1, %rdx\n ret $16\n"

    ".globl straight_1500_calls\n.type straight_1500_calls, @function\n"
    "straight_1500_calls: begin\n"
    " add $3, %rbx\n call one_return\n add $5, %rbx\n call *%r13\n adc $7, %rbx\n call *8(%rsi)\n"
    " cmp $1, %rbx\n call two_returns\n adc $1, %rbx\n push %rbx\n push %rdx\n call return_16\n"
    " adc $0, %rbx\n finish\n.size straight_1500_calls, . - straight_1500_calls\n"

    // Flags live throughout, no register free: the counter goes up through a spilled register.
    ".globl straight_1500_flags\n.type straight_1500_flags, @function\n"
    "straight_1500_flags: begin\n"
    " cmp %rbx, %rdi\n mov %rbp, -16(%rsp)\n jne 1f\n1: mov %rdi, -24(%rsp)\n js 2f\n"
    "2: adc %rbx, %rbp\n jmp *(%rsi)\nafter_jump: adc $9, %rbp\n"
    " add -16(%rsp), %rbp\n adc -24(%rsp), %rbp\n finish\n"
    ".size straight_1500_flags, . - straight_1500_flags\n"

    // The same low 16 bits: each displaces the other in a table.
    ".globl straight_1500_collide\n.type straight_1500_collide, @function\n"
    "straight_1500_collide: begin\n"
    " sub %rbx, %rdx\n call *%r14\n adc $1, %rdx\n call *%r15\n adc $1, %rdx\n call *%r14\n"
    " sbb $1, %rdx\n finish\n.size straight_1500_collide, . - straight_1500_collide\n"

    ".globl straight_1500_system\n.type straight_1500_system, @function\n"
    "straight_1500_system: begin\n"
    // sched_yield; prctl(-1), at which an engine may look
    " add $24, %eax\n cmp %rbx, %rdi\n syscall\n adc $1, %rbx\n add $157, %eax\n or $-1, %rdi\n"
    " cmp %rdi, %rbx\n syscall\n adc $1, %rbx\n finish\n"
    ".size straight_1500_system, . - straight_1500_system\n"

    ".globl loops\n.type loops, @function\n"
    "loops: begin\n"
    " and $15, %ebx\n and $3, %ecx\n add $4, %ecx\n"
    "1: adc %rbx, %rdx\n loop 1b\n jrcxz 2f\n add $100, %rdx\n2: add $3, %rdx\n"
    "3: add %rbx, %rdi\n add $-1, %ebx\n jne 3b\n"
    "4: adc $1, %rdi\n add $3, %ebx\n cmp $9, %ebx\n jb 4b\n add $5, %ecx\n"
    "5: adc $1, %rdi\n loopne 5b\n finish\n.size loops, . - loops\n"

    ".balign 64\nfar_a: add $1, %rdx\n call *%r13\n adc $2, %rdx\n ret\n"
    "9: .skip 65536 - (9b - far_a)\n"
    "far_b: add $3, %rdx\n call *%r13\n adc $4, %rdx\n ret\n"
    "all_end:\n"
    // run(code, &phase, slots, out): with all registers set
    ".globl run\nrun: push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n push %rcx\n"
    " mov %rdi, %rax\n mov %rsi, %r12\n mov %rdx, %rsi\n lea one_return(%rip), %r13\n"
    " lea far_a(%rip), %r14\n lea far_b(%rip), %r15\n mov $0x1b, %ebx\n mov $0x1c0001, %ebp\n"
    " mov $0x1d, %edi\n mov $0x1e, %edx\n mov $0x1f, %ecx\n mov $0x20, %r8d\n mov $0x21, %r9d\n"
    " mov $0x22, %r10d\n mov %rsp, stack(%rip)\n incq (%r12)\n call *%rax\n"
    " lahf\n seto %al\n pop %rcx\n mov %rax, (%rcx)\n mov %rbx, 8(%rcx)\n mov %rbp, 16(%rcx)\n"
    " mov %rdx, 24(%rcx)\n mov %rdi, 32(%rcx)\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n"
    ".popsection\n.data\n.globl stack\nstack: .quad 0\n.text\n");

extern char all_begin[], all_end[], after_jump[], one_return[];
extern char straight_1500_calls[], straight_1500_flags[], straight_1500_collide[], straight_1500_system[],
    loops[];
extern uint64_t stack;
extern void run(char *code, volatile long *phase, char **slots, uint64_t *out);

struct frame {
    uint64_t words[17];
};
static struct frame frames[4096];
static volatile unsigned used;
static volatile long elsewhere;

// Addresses of code and stack are others in every run.
static uint64_t plain(uint64_t value) {
    if (value - (uint64_t)all_begin < (uint64_t)(all_end - all_begin))
        return value - (uint64_t)all_begin + 0xc0de00000000;
    if (value - stack + 4096 < 8192)
        return value - stack + 0x57ac00000000;
    if (value == (uint64_t)shared)
        return 0xda7a;
    return value;
}

static char *slots[2];

static void on_signal(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t rip = registers[REG_RIP];
    if (rip - (uint64_t)all_begin >= (uint64_t)(all_end - all_begin)) {
        elsewhere++;
        return;
    }
    struct frame frame;
    for (int word = 0; word < 17; word++) {
        uint64_t value = registers[word];
        if (word == REG_R11) // Flags after a system call, that of stepping included.
            value = 0;
        if (word == REG_RCX && *(uint16_t *)rip == 0x050f) // Dead before a system call.
            value = 0;
        frame.words[word] = value == (uint64_t)slots ? 0x5107 : plain(value);
    }
    for (unsigned old = 0; old < used; old++)
        if (!memcmp(&frames[old], &frame, sizeof frame))
            return;
    if (used < 4096)
        frames[used++] = frame;
}

static int compare(const void *a, const void *b) {
    const struct frame *left = a, *right = b;
    for (int word = 16; word >= 0; word--)
        if (left->words[word] != right->words[word])
            return left->words[word] < right->words[word] ? -1 : 1;
    return 0;
}

static int blocked(pid_t pid) {
    uint64_t mask = 0;
    ptrace(GET_MASK, pid, (void *)8, &mask);
    return mask >> (SIGUSR1 - 1) & 1;
}

// Steps so often, where the signal is not blocked; whether the end has not been reached.
static int steps(pid_t pid, long count) {
    while (count > 0) {
        int status;
        // An engine's own instructions are none of the program's.
        ptrace(blocked(pid) ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, pid, 0, 0);
        if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
            _exit(3);
        if (shared->phase != 1)
            return 0;
        if (!blocked(pid))
            count--;
    }
    return 1;
}

static void trace(pid_t pid) {
    if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) {
        shared->attached = -1;
        _exit(0);
    }
    ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    // From beginning to end, and back: what a signal interrupts may take another way from there, and
    // leave another way to the next call, so that a step leads over what was not looked at yet.
    long place = 0, direction = 1, last = -1, signal = 0;
    for (;;) {
        int status;
        if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
            _exit(0);
        shared->attached = 1;
        int stop = WSTOPSIG(status);
        signal = stop == SIGTRAP || stop == (SIGTRAP | 0x80) || status >> 16 ? 0 : stop;
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, pid, 0, &registers);
        int begun = stop == (SIGTRAP | 0x80) && registers.orig_rax == 24 && registers.rax == 0;
        if (begun && shared->phase == 1 && shared->call != last) {
            last = shared->call;
            if (last == 0) {
                place = 0;
                direction = 1;
            }
            if (last >= WARM && place >= 0) {
                if (steps(pid, place))
                    signal = SIGUSR1;
                else
                    direction = -1;
                place += direction;
                shared->whole += place < 0;
            }
        }
        ptrace(PTRACE_SYSCALL, pid, 0, signal);
    }
}

static void try(const char *name, char *code) {
    used = 0;
    uint64_t first[5], out[5];
    int others = 0;
    for (long call = 0; call < CALLS; call++) {
        shared->call = call;
        shared->phase = 0;
        run(code, &shared->phase, slots, out);
        if (call == 0)
            memcpy(first, out, sizeof out);
        others += memcmp(first, out, sizeof out) != 0;
    }
    qsort(frames, used, sizeof *frames, compare);
    printf("%s: %u frames, %d other results, all %ld\n", name, used, others, shared->whole);
    for (unsigned frame = 0; frame < used; frame++) {
        for (int word = 0; word < 17; word++)
            printf(" %llx", (unsigned long long)frames[frame].words[word]);
        printf("\n");
    }
}

int main(void) {
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    slots[0] = after_jump;
    slots[1] = one_return;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pid_t parent = getpid();
    if (!fork())
        trace(parent);
    while (!shared->attached)
        usleep(1000);
    if (shared->attached < 0) {
        printf("no tracing\n");
        return 0;
    }
    try("calls", straight_1500_calls);
    try("flags", straight_1500_flags);
    try("collide", straight_1500_collide);
    try("system", straight_1500_system);
    try("loops", loops);
    printf("elsewhere %ld\n", elsewhere);
    fflush(stdout);
    _exit(0);
}
