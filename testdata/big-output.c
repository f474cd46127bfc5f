/* Writes as much to standard output as it is told, and a tenth of that to
 * standard error: for pipes that must neither block nor grow in memory.
 * Built with -O2.   big-output [mebibytes=1024] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int put(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(file, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char block[1 << 20];
    long mebibytes = argc > 1 ? atol(argv[1]) : 1024;
    memset(block, 'x', sizeof block);
    for (size_t i = 79; i < sizeof block; i += 80)
        block[i] = '\n';
    for (long i = 0; i < mebibytes; i++) {
        if (put(STDOUT_FILENO, block, sizeof block) != 0)
            return 1;
        if (i % 10 == 0 && put(STDERR_FILENO, block, sizeof block) != 0)
            return 1;
    }
    return 0;
}
