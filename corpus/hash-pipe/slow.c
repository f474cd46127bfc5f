/* A child makes a chain of keys and writes it to a pipe in large blocks; its parent prints a digest. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 8192 };

static uint64_t next_key(uint64_t key)
{
    for (int turn = 0; turn < 300; turn++)
        key = (key ^ key >> 29) * 0xbf58476d1ce4e5b9u + (uint64_t)turn;
    return key;
}

static void write_chain(int out, unsigned blocks)
{
    static uint64_t keys[KEYS];
    uint64_t key = 1;
    for (unsigned block = 0; block < blocks; block++) {
        for (int k = 0; k < KEYS; k++)
            keys[k] = key = next_key(key);
        const char *bytes = (const char *)keys;
        for (size_t left = sizeof keys; left > 0;) {
            ssize_t size = write(out, bytes, left);
            if (size <= 0)
                _exit(1);
            bytes += size;
            left -= (size_t)size;
        }
    }
}

static uint64_t digest(int in)
{
    static uint64_t keys[KEYS];
    uint64_t sum = 0;
    ssize_t size;
    while ((size = read(in, keys, sizeof keys)) > 0)
        for (size_t byte = 0; byte < (size_t)size; byte++)
            sum = sum * 31 + ((const uint8_t *)keys)[byte];
    return sum;
}

int main(int argc, char **argv)
{
    unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        write_chain(ends[1], blocks);
        _exit(0);
    }
    close(ends[1]);
    printf("%016lx\n", (unsigned long)digest(ends[0]));
    waitpid(child, NULL, 0);
    return 0;
}
