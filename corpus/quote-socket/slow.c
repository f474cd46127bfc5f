/* Prices baskets of instruments by asking a quote server over TCP: a header, then the basket, then the answer. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INSTRUMENTS = 2048, MOST = 48 };

struct header {
    uint32_t number, count;
};

struct position {
    uint32_t instrument;
    int32_t quantity;
};

static int read_all(int fd, void *into, size_t size)
{
    char *at = into;
    while (size > 0) {
        ssize_t got = read(fd, at, size);
        if (got <= 0)
            return 0;
        at += got;
        size -= (size_t)got;
    }
    return 1;
}

static void write_all(int fd, const void *from, size_t size)
{
    const char *at = from;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put <= 0)
            exit(1);
        at += put;
        size -= (size_t)put;
    }
}

static int64_t value_of(const int64_t *prices, const struct position *basket, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t p = 0; p < count; p++) {
        int64_t price = prices[basket[p].instrument % INSTRUMENTS];
        sum += price * basket[p].quantity - (price * basket[p].quantity) / 1000;
    }
    return sum;
}

static void serve_quotes(int listening)
{
    static int64_t prices[INSTRUMENTS];
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < INSTRUMENTS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        prices[i] = (int64_t)(state >> 44) + 100;
    }
    int fd = accept(listening, NULL, NULL);
    struct header header;
    struct position basket[MOST];
    while (fd >= 0 && read_all(fd, &header, sizeof header)) {
        if (header.count > MOST || !read_all(fd, basket, header.count * sizeof *basket))
            return;
        int64_t value = value_of(prices, basket, header.count);
        write_all(fd, &value, sizeof value);
    }
}

/* Sends one basket and returns its value. */
static int64_t ask(int fd, uint32_t number, const struct position *basket, uint32_t count)
{
    struct header header = {number, count};
    int64_t value;
    write_all(fd, &header, sizeof header);
    write_all(fd, basket, count * sizeof *basket);
    if (!read_all(fd, &value, sizeof value))
        exit(1);
    return value;
}

static uint64_t price_book(int fd, uint32_t baskets)
{
    uint64_t state = 1, checksum = 0;
    for (uint32_t b = 0; b < baskets; b++) {
        struct position basket[MOST];
        uint32_t count = 8 + b % (MOST - 8);
        for (uint32_t p = 0; p < count; p++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            basket[p].instrument = (uint32_t)(state >> 40);
            basket[p].quantity = (int32_t)(state >> 58) - 20;
        }
        checksum = checksum * 31 + (uint64_t)ask(fd, b, basket, count);
    }
    return checksum;
}

int main(int argc, char **argv)
{
    uint32_t baskets = argc > 1 ? (uint32_t)atoi(argv[1]) : 60;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, size) || listen(listening, 1) ||
        getsockname(listening, (struct sockaddr *)&address, &size))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        serve_quotes(listening);
        _exit(0);
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, size))
        return 1;
    uint64_t checksum = price_book(fd, baskets);
    close(fd);
    waitpid(child, NULL, 0);
    printf("%016llx\n", (unsigned long long)checksum);
    return 0;
}
