/* A server that takes readings as framed messages over TCP; two senders deliver theirs. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SENDERS 2
#define MESSAGES 450000 /* of each sender */
#define LONGEST 255

struct totals {
    pthread_mutex_t lock;
    uint64_t lines, sum, keys;
};

struct connection {
    int fd;
    struct totals *totals;
    size_t at, end;
    char buffer[65536];
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* All of the bytes; 0 at the end of the stream. */
__attribute__((noinline)) static int read_bytes(struct connection *c, void *to, size_t size)
{
    size_t n = 0;
    while (n < size) {
        if (c->at == c->end) {
            ssize_t got = recv(c->fd, c->buffer, sizeof c->buffer, 0);
            if (got < 0)
                die("recv");
            if (got == 0)
                return 0;
            c->at = 0;
            c->end = got;
        }
        size_t part = size - n < c->end - c->at ? size - n : c->end - c->at;
        memcpy((char *)to + n, c->buffer + c->at, part);
        c->at += part;
        n += part;
    }
    return 1;
}

/* A message: a byte with its length, then the text. */
__attribute__((noinline)) static int read_message(struct connection *c, char *text)
{
    unsigned char length;
    if (!read_bytes(c, &length, 1) || !read_bytes(c, text, length))
        return 0;
    text[length] = 0;
    return 1;
}

/* "temp.3 2187 1699871": key, value, time */
__attribute__((noinline)) static void take_reading(const char *line, uint64_t *lines, uint64_t *sum, uint64_t *keys)
{
    const char *p = strchr(line, ' ');
    if (!p)
        return;
    uint64_t h = 5381;
    for (const char *q = line; q < p; q++)
        h = h * 33 + (unsigned char)*q;
    *keys ^= h;
    *sum += strtoul(p + 1, NULL, 10);
    ++*lines;
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    char text[LONGEST + 1];
    uint64_t lines = 0, sum = 0, keys = 0;
    while (read_message(c, text))
        take_reading(text, &lines, &sum, &keys);
    char answer[64];
    int n = snprintf(answer, sizeof answer, "%llu\n", (unsigned long long)lines);
    if (send(c->fd, answer, n, 0) != n)
        die("send");
    close(c->fd);
    pthread_mutex_lock(&c->totals->lock);
    c->totals->lines += lines;
    c->totals->sum += sum;
    c->totals->keys ^= keys;
    pthread_mutex_unlock(&c->totals->lock);
    free(c);
    return NULL;
}

static void deliver(struct sockaddr_in *to, int sender)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)to, sizeof *to) != 0)
        die("connect");
    char block[32768];
    size_t used = 0;
    uint32_t x = 2463534242u + sender;
    for (int i = 0; i < MESSAGES; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        int n = snprintf(block + used + 1, LONGEST, "hall%d.floor%u.temp.%u %u %d", sender, x % 7, x % 50, x >> 20,
                         1699871 + i);
        block[used] = (char)n;
        used += n + 1;
        if (used > sizeof block - LONGEST - 1 || i == MESSAGES - 1) {
            for (size_t at = 0; at < used;) {
                ssize_t n = send(fd, block + at, used - at, 0);
                if (n < 0)
                    die("send");
                at += n;
            }
            used = 0;
        }
    }
    shutdown(fd, SHUT_WR);
    char answer[64] = "";
    if (recv(fd, answer, sizeof answer - 1, 0) <= 0 || atoi(answer) != MESSAGES)
        die("answer");
    close(fd);
}

int main(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 8) != 0
        || getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        die("listen");
    for (int s = 0; s < SENDERS; s++)
        if (fork() == 0) {
            close(listener);
            deliver(&address, s);
            _exit(0);
        }

    struct totals totals = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[SENDERS];
    for (int s = 0; s < SENDERS; s++) {
        struct connection *c = calloc(1, sizeof *c);
        c->fd = accept(listener, NULL, NULL);
        c->totals = &totals;
        if (c->fd < 0)
            die("accept");
        pthread_create(&threads[s], NULL, serve, c);
    }
    for (int s = 0; s < SENDERS; s++)
        pthread_join(threads[s], NULL);
    while (wait(NULL) > 0)
        ;
    printf("%llu readings, sum %llu, keys %llx\n", (unsigned long long)totals.lines,
           (unsigned long long)totals.sum, (unsigned long long)totals.keys);
    return 0;
}
