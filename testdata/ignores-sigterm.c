/* A target that does not want to end: ignores SIGTERM, SIGINT and SIGHUP,
 * leaves the process group by setsid, double-forks, and the grandchild, which
 * no parent waits for, spins. Only SIGKILL ends it.
 * The grandchild's and the own process id go to the file named, one a line,
 * so that a test can see whether they are gone.
 * The `alarm` is the seat belt: nothing outlives a failed test by more than
 * five minutes.
 * Built with -O2.   ignores-sigterm PIDFILE [leave]
 * With `leave` the first process ends at once and leaves the grandchild. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void spin(void)
{
    static volatile unsigned long turns;
    for (;;)
        turns++;
}

static int note(const char *path, pid_t pid)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%d\n", (int)pid);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    int written = file >= 0 && write(file, text, (size_t)length) == length;
    return file >= 0 && close(file) == 0 && written ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    alarm(300);
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild != 0)
            _exit(grandchild < 0);
        /* fork clears the alarm. */
        alarm(300);
        if (note(argv[1], getpid()) != 0)
            _exit(1);
        spin();
    }
    waitpid(child, NULL, 0);
    if (note(argv[1], getpid()) != 0)
        return 1;
    if (argc > 2 && strcmp(argv[2], "leave") == 0)
        return 0;
    spin();
}
