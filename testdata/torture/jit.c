// Code made at run time, in the way that the argument names. What an engine cannot count it must
// refuse; it must never print something else.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*function)(void);

static void make(unsigned char *at, int value) {
    unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &value, 4);
    memcpy(at, code, sizeof code);
}

__attribute__((noinline)) static int outer(function inner) { return inner() + 1; }
__attribute__((noinline, aligned(4096))) int patched(void) { __asm__ volatile(""); return 1; }

static long run(const char *how) {
    long sum = 0;
    unsigned char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    function call = (function)page;
#define IS(name) if (!strcmp(how, name))
    IS("once") {
        make(page, 5);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        for (int i = 0; i < 100; i++) sum += call();
    }
    IS("turns") for (int i = 0; i < 100; i++) {
        mprotect(page, 8192, PROT_READ | PROT_WRITE);
        make(page, i);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        sum += call();
    }
    IS("protect-twice") for (int i = 0; i < 100; i++) {
        mprotect(page, 8192, PROT_READ | PROT_WRITE);
        make(page, i);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        sum += call();
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        sum += call();
    }
    IS("neighbour") {
        make(page, 1);
        make(page + 4096, 1);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        for (int i = 0; i < 100; i++) {
            unsigned char *one = page + i % 2 * 4096;
            sum += call() + ((function)(page + 4096))();
            mprotect(one, 4096, PROT_READ | PROT_WRITE);
            make(one, i);
            mprotect(one, 4096, PROT_READ | PROT_EXEC);
        }
    }
    IS("rwx") {
        mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        for (int i = 0; i < 100; i++) { make(page, i); sum += call(); }
    }
    IS("rwx-late") {
        make(page, 1);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        sum += call();
        mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        for (int i = 0; i < 100; i++) { make(page, i); sum += call(); }
    }
    IS("threads") {
        // One thread makes a page anew while another runs its neighbour.
        static volatile int stop;
        static unsigned char *pages;
        pages = page;
        make(page + 4096, 7);
        void *runs(void *data) {
            long sum = 0;
            while (!stop) sum += ((function)(pages + 4096))() != 7;
            return (void *)sum;
        }
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        pthread_t thread;
        pthread_create(&thread, 0, runs, 0);
        for (int i = 0; i < 300; i++) {
            mprotect(page, 4096, PROT_READ | PROT_WRITE);
            make(page, i);
            mprotect(page, 4096, PROT_READ | PROT_EXEC);
            sum += call();
        }
        stop = 1;
        void *wrong;
        pthread_join(thread, &wrong);
        sum += (long)wrong;
    }
    IS("remap") for (int i = 0; i < 100; i++) {
        unsigned char *fresh = mmap(page, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        make(fresh, i);
        mprotect(fresh, 8192, PROT_READ | PROT_EXEC);
        sum += call();
    }
    IS("moved") {
        make(page, 4);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        sum += call();
        unsigned char *other = mremap(page, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, page + (1 << 20));
        sum += ((function)other)();
        unsigned char *fresh = mmap(page, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        make(fresh, 9);
        mprotect(fresh, 8192, PROT_READ | PROT_EXEC);
        sum += call();
    }
    IS("dual") {
        int fd = memfd_create("x", 0);
        ftruncate(fd, 8192);
        unsigned char *write_to = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        call = (function)mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
        for (int i = 0; i < 100; i++) { make(write_to, i); sum += call(); }
    }
    IS("dual-anonymous") {
        unsigned char *write_to = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        call = (function)mremap(write_to, 0, 8192, MREMAP_MAYMOVE);
        mprotect((void *)call, 8192, PROT_READ | PROT_EXEC);
        for (int i = 0; i < 100; i++) { make(write_to, i); sum += call(); }
    }
    IS("shared-fork") {
        // A child writes to memory that it shares; the parent has it without the right to write.
        unsigned char *shared = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        make(shared, 1);
        mprotect(shared, 8192, PROT_READ | PROT_EXEC);
        sum += ((function)shared)();
        pid_t child = fork();
        if (child == 0) { mprotect(shared, 8192, PROT_READ | PROT_WRITE); make(shared, 1000); _exit(0); }
        waitpid(child, 0, 0);
        sum += ((function)shared)();
    }
    IS("file") {
        // A private mapping of a file shows what is written to the file.
        char name[] = "/tmp/genba-torture-XXXXXX";
        int fd = mkstemp(name);
        unlink(name);
        make(page, 0);
        pwrite(fd, page, 4096, 0);
        call = (function)mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        for (int i = 0; i < 100; i++) { make(page, i); pwrite(fd, page, 6, 0); sum += call(); }
    }
    IS("discarded") {
        char name[] = "/tmp/genba-torture-XXXXXX";
        int fd = mkstemp(name);
        unlink(name);
        make(page, 3);
        pwrite(fd, page, 4096, 0);
        unsigned char *copy = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        make(copy, 50);
        mprotect(copy, 4096, PROT_READ | PROT_EXEC);
        call = (function)copy;
        sum += call();
        madvise(copy, 4096, MADV_DONTNEED);
        sum += call();
    }
    // Known to run the old code; only a note tells of it.
    IS("memory-file") {
        make(page, 1);
        mprotect(page, 8192, PROT_READ | PROT_EXEC);
        int fd = open("/proc/self/mem", O_RDWR);
        for (int i = 0; i < 100; i++) { pwrite(fd, &i, 4, (off_t)page + 1); sum += call(); }
    }
    IS("own-text") {
        sum += patched();
        unsigned char *text = (unsigned char *)patched;
        mprotect(text, 4096, PROT_READ | PROT_WRITE);
        make(text, 6);
        mprotect(text, 4096, PROT_READ | PROT_EXEC);
        sum += patched();
    }
    IS("trampoline") {
        int add = 5;
        int inner(void) { return add++; }
        for (int i = 0; i < 100; i++) sum += outer(inner);
    }
    IS("heap") {
        // Executable by personality or not at all; here by mprotect of the heap.
        unsigned char *block = aligned_alloc(4096, 8192);
        make(block, 8);
        mprotect(block, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        sum += ((function)block)();
        mprotect(block, 8192, PROT_READ | PROT_WRITE);
    }
    IS("child") {
        pid_t child = fork();
        if (child == 0) _exit((int)run("rwx") & 127);
        int status;
        waitpid(child, &status, 0);
        sum = status;
    }
    return sum;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "once";
    printf("%s %ld\n", how, run(how));
    return 0;
}
