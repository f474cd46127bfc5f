// Code in memory that stays writable, rewritten in every way: by stores, by system calls, by itself,
// over a page's end, with all signals blocked, by another thread, in a child.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sys/uio.h>
#include <sys/wait.h>

typedef long (*function)(long);
static unsigned char *page;
/* lea imm(%rdi),%rax; ret */
static void write_code(unsigned char *to, int32_t add) {
    unsigned char code[8] = {0x48, 0x8D, 0x87, 0, 0, 0, 0, 0xC3};
    memcpy(code + 3, &add, 4);
    memcpy(to, code, 8);
}
static long call(unsigned char *at, long x, int n) {
    function f = (function)at;
    for (int i = 0; i < n; i++) x = f(x);
    return x;
}
static void *writer(void *at) { for (int i = 1; i <= 1000; i++) { write_code(at, i); sched_yield(); } return 0; }
int main(void) {
    page = mmap(0, 8 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* rewritten again and again */
    long sum = 0;
    for (int i = 0; i < 500; i++) { write_code(page, i); sum += call(page, 0, 100); }
    printf("rewritten %ld\n", sum);
    /* beside other code of the page */
    write_code(page + 64, 1); 
    sum = 0;
    for (int i = 0; i < 200; i++) { write_code(page + 128, i); sum += call(page + 64, 0, 10) + call(page + 128, 0, 10); }
    printf("beside %ld\n", sum);
    /* by read(2), readv(2) and getrandom-like calls */
    int ends[2]; if (pipe(ends)) return 1;
    unsigned char code[16];
    sum = 0;
    for (int i = 0; i < 100; i++) {
        write_code(code, i);
        if (write(ends[1], code, 8) != 8) return 2;
        if (i % 2) { if (read(ends[0], page, 8) != 8) { perror("read"); return 3; } }
        else { struct iovec v[2] = {{page, 4}, {page + 4, 4}}; if (readv(ends[0], v, 2) != 8) { perror("readv"); return 4; } }
        sum += call(page, 0, 10);
    }
    printf("read %ld\n", sum);
    /* code that writes to itself: movb $n, 1(%rip) ... ; the instruction after it is changed */
    /* c6 05 rel32 imm8 : mov byte [rip+rel], imm8 ; b8 imm32 : mov eax, imm32 ; c3 */
    unsigned char self[] = {0x40, 0x88, 0x3D, 1, 0, 0, 0, /* mov [rip+1], dil */ 0xB8, 0, 0, 0, 0, /* mov eax, imm */ 0xC3};
    memcpy(page + 4096, self, sizeof self);
    sum = 0;
    for (int i = 0; i < 200; i++) sum += call(page + 4096, i % 100, 1);
    printf("self %ld\n", sum);
    /* straddling two pages, rep movsb over them */
    sum = 0;
    for (int i = 0; i < 100; i++) { write_code(page + 3 * 4096 - 3, i); sum += call(page + 3 * 4096 - 3, 0, 10); }
    printf("straddling %ld\n", sum);
    /* all signals blocked */
    sigset_t all, old, seen; sigfillset(&all); sigprocmask(SIG_SETMASK, &all, &old);
    sum = 0;
    for (int i = 0; i < 100; i++) { write_code(page, i); sum += call(page, 0, 10); }
    sigprocmask(SIG_SETMASK, &old, &seen);
    printf("blocked %ld %d %d\n", sum, sigismember(&seen, SIGSEGV), sigismember(&old, SIGSEGV));
    /* by another thread */
    sum = 0;
    write_code(page, 0);
    for (int i = 0; i < 20; i++) { pthread_t t; pthread_create(&t, 0, writer, page); for (int j = 0; j < 1000; j++) call(page + 64, 1, 10); pthread_join(t, 0); sum += call(page, 0, 2); }
    printf("thread %ld\n", sum);
    fflush(stdout);
    /* in a child */
    pid_t child = fork();
    if (!child) { write_code(page, 7); printf("child %ld\n", call(page, 0, 3)); fflush(stdout); _exit(0); }
    int status; waitpid(child, &status, 0); printf("status %d\n", status);
    printf("parent %ld\n", call(page, 0, 3));
    /* protections */
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    printf("rx %ld\n", call(page, 0, 3));
    mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    write_code(page, 5);
    printf("rwx %ld\n", call(page, 0, 3));
    munmap(page, 8 * 4096);
    return 0;
}
