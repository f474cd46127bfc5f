/* Writes a web server's access log: one line a request, with the local time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct request {
    time_t time;
    uint32_t address, status, bytes;
    const char *path;
};

struct log {
    char buffer[1 << 15];
    size_t used;
    uint64_t written, digest;
};

static char *put_number(char *to, uint32_t value)
{
    char digits[10];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *to++ = digits[--n];
    return to;
}

static char *put_time(char *to, time_t time)
{
    static time_t last = -1;
    static char text[32];
    static size_t length;
    if (time != last) {
        struct tm local;
        localtime_r(&time, &local);
        length = strftime(text, sizeof text, "[%d/%b/%Y:%H:%M:%S %z]", &local);
        last = time;
    }
    memcpy(to, text, length);
    return to + length;
}

static void log_request(struct log *log, const struct request *r)
{
    if (sizeof log->buffer - log->used < 256) {
        for (size_t i = 0; i < log->used; i += 61)
            log->digest = log->digest * 31 + (unsigned char)log->buffer[i];
        log->written += log->used;
        log->used = 0;
    }
    char *to = log->buffer + log->used;
    for (int shift = 24; shift >= 0; shift -= 8) {
        to = put_number(to, r->address >> shift & 255);
        *to++ = shift ? '.' : ' ';
    }
    to = put_time(to, r->time);
    to = stpcpy(stpcpy(stpcpy(to, " \"GET "), r->path), "\" ");
    to = put_number(to, r->status);
    *to++ = ' ';
    to = put_number(to, r->bytes);
    *to++ = '\n';
    log->used = (size_t)(to - log->buffer);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    static const char *paths[] = {"/", "/index.html", "/static/site.css", "/api/v1/orders?page=7", "/favicon.ico"};
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    struct request *requests = calloc(count, sizeof *requests);
    uint32_t state = 71;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        requests[i] = (struct request){1750000000 + (time_t)(i / 40), state, state % 9 ? 200 : 404, state >> 16, paths[(state >> 9) % 5]};
    }
    struct log *log = calloc(1, sizeof *log);
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < count; i++)
            log_request(log, &requests[i]);
    printf("%llu bytes, %016llx\n", (unsigned long long)log->written, (unsigned long long)log->digest);
    free(log);
    free(requests);
    return 0;
}
