/* A process tree as a compiler driver makes it: the parent waits, children
 * compute; the last one comes by fork and exec of this program itself.
 * Built with -g -O2.   forks [children=3] [millions=400] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t child_work(uint64_t rounds)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < rounds; i++)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    return x;
}

__attribute__((noinline)) static uint64_t after_exec(uint64_t rounds)
{
    uint64_t x = 3;
    for (uint64_t i = 0; i < rounds; i++)
        x = (x << 7 | x >> 57) ^ i;
    return x;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return after_exec(strtoull(argv[2], NULL, 10)) == 42;

    int children = argc > 1 ? atoi(argv[1]) : 3, failed = 0;
    uint64_t rounds = (argc > 2 ? strtoull(argv[2], NULL, 10) : 400) * 1000000;
    for (int i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0 && i + 1 < children)
            _exit(child_work(rounds) == 42);
        if (pid == 0) {
            char text[32];
            snprintf(text, sizeof text, "%llu", (unsigned long long)rounds);
            execl("/proc/self/exe", argv[0], "--child", text, (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0, status; i < children; i++)
        if (wait(&status) < 0 || status != 0)
            failed = 1;
    return failed;
}
