/* Writes a log of events as text lines. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct log {
    int fd;
    unsigned long lines, bytes;
};

static void log_event(struct log *log, unsigned level, unsigned code, unsigned value)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    char line[96];
    int length = snprintf(line, sizeof line, "%s: code %u, value %u\n", names[level & 3], code, value);
    if (write(log->fd, line, (size_t)length) != length) {
        perror("write");
        exit(1);
    }
    log->lines++;
    log->bytes += (unsigned long)length;
}

static void log_close(struct log *log)
{
    close(log->fd);
}

int main(int argc, char **argv)
{
    unsigned events = argc > 1 ? atoi(argv[1]) : 10000;
    struct log *log = calloc(1, sizeof *log);
    log->fd = open("/dev/null", O_WRONLY);
    if (log->fd < 0) {
        perror("/dev/null");
        return 1;
    }
    uint32_t state = 8;
    for (unsigned i = 0; i < events; i++) {
        state = state * 1664525 + 1013904223;
        log_event(log, state >> 30, state >> 20 & 255, i);
    }
    printf("%lu lines, %lu bytes\n", log->lines, log->bytes);
    log_close(log);
    free(log);
    return 0;
}
