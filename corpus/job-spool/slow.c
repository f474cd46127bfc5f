/* A spooler hands jobs to a printer process by files' worth of bytes in a pipe, and looks for its answers with a time-out. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    uint32_t number, pages;
};

struct answer {
    uint32_t number;
    uint64_t ink;
};

static uint64_t rasterise(const struct job *job)
{
    uint64_t ink = job->number;
    for (uint32_t dot = 0; dot < job->pages * 100000; dot++)
        ink = ink * 6364136223846793005u + (dot ^ ink >> 33);
    return ink;
}

static void print_jobs(int in, int out)
{
    struct job job;
    while (read(in, &job, sizeof job) == (ssize_t)sizeof job) {
        struct answer answer = {job.number, rasterise(&job)};
        if (write(out, &answer, sizeof answer) != (ssize_t)sizeof answer)
            return;
    }
}

/* Whether an answer has come. */
static int collect(int fd, struct answer *answer)
{
    ssize_t size = read(fd, answer, sizeof *answer);
    if (size < 0 && errno != EAGAIN)
        exit(1);
    return size == (ssize_t)sizeof *answer;
}

static void await(int fd, struct answer *answer)
{
    while (!collect(fd, answer))
        poll(NULL, 0, 10);
}

static uint64_t spool(int jobs_out, int answers_in, uint32_t jobs)
{
    uint64_t sum = 0;
    fcntl(answers_in, F_SETFL, O_NONBLOCK);
    for (uint32_t number = 0; number < jobs; number++) {
        struct job job = {number, 10 + number % 5 * 12};
        struct answer answer;
        if (write(jobs_out, &job, sizeof job) != (ssize_t)sizeof job)
            exit(1);
        await(answers_in, &answer);
        sum = sum * 31 + answer.ink;
    }
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t jobs = argc > 1 ? (uint32_t)atoi(argv[1]) : 50;
    int to_printer[2], from_printer[2];
    if (pipe(to_printer) != 0 || pipe(from_printer) != 0) {
        perror("pipe");
        return 1;
    }
    pid_t printer = fork();
    if (printer == 0) {
        close(to_printer[1]);
        close(from_printer[0]);
        print_jobs(to_printer[0], from_printer[1]);
        _exit(0);
    }
    close(to_printer[0]);
    close(from_printer[1]);
    printf("%016lx\n", (unsigned long)spool(to_printer[1], from_printer[0], jobs));
    close(to_printer[1]);
    waitpid(printer, NULL, 0);
    return 0;
}
