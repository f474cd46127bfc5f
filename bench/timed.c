/* timed FILE COMMAND…: runs a command and appends one line to FILE:
 * wall, user and system seconds, and max RSS in bytes.
 *
 * A program of its own because (a) a child's max RSS starts from the size of
 * the process that it was forked from, and an interpreter is larger than what
 * it would measure, and (b) placed between a profiler and its target it tells
 * the target's cost from the profiler's own. Max RSS is that of the largest
 * process of the command's tree. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

int main(int argc, char **argv)
{
    struct timespec begin, end;
    struct rusage usage;
    int status;
    if (argc < 3) {
        fputs("usage: timed FILE COMMAND...\n", stderr);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);

    FILE *file = fopen(argv[1], "a");
    if (!file)
        return 1;
    fprintf(file, "%.6f %.6f %.6f %ld\n",
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
            seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss * 1024);
    if (fclose(file) != 0)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
