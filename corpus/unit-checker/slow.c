/* Checks a calculation in a child, so that a crash does not take the checker with it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct result {
    uint64_t steps, longest;
};

/* The longest path down to one by halving or tripling, of starts below a bound. */
static void longest_path(struct result *result, uint32_t bound)
{
    for (uint32_t start = 1; start < bound; start++) {
        uint64_t at = start, steps = 0;
        for (; at != 1; steps++)
            at = at & 1 ? 3 * at + 1 : at / 2;
        if (steps > result->steps) {
            result->steps = steps;
            result->longest = start;
        }
    }
}

static int check_in_child(struct result *result, uint32_t bound)
{
    pid_t child = fork();
    if (child == 0) {
        longest_path(result, bound);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
    uint32_t bound = argc > 1 ? (uint32_t)atoi(argv[1]) : 100000;
    struct result *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED || !check_in_child(result, bound))
        return 1;
    printf("%lu takes %lu steps\n", (unsigned long)result->longest, (unsigned long)result->steps);
    return 0;
}
