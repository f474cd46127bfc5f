/* Writes a table of contents with the checksum of each section of a document. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTION_SIZE = 20000 };

static void write_section(char *text, uint32_t number)
{
    uint32_t state = number + 1;
    for (int at = 0; at < SECTION_SIZE; at++) {
        for (int turn = 0; turn < 20; turn++)
            state = state * 1664525 + 1013904223;
        text[at] = state >> 29 ? (char)('a' + (state >> 24) % 26) : ' ';
    }
}

/* The CRC of POSIX' cksum, by that program. */
static uint32_t checksum(const char *text, size_t size)
{
    int to_child[2], from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0) {
        perror("pipe");
        exit(1);
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(to_child[0], 0);
        dup2(from_child[1], 1);
        close(to_child[1]);
        close(from_child[0]);
        execlp("cksum", "cksum", (char *)NULL);
        _exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    if (write(to_child[1], text, size) != (ssize_t)size)
        exit(1);
    close(to_child[1]);
    char answer[64] = {0};
    if (read(from_child[0], answer, sizeof answer - 1) <= 0)
        exit(1);
    close(from_child[0]);
    waitpid(child, NULL, 0);
    return (uint32_t)strtoul(answer, NULL, 10);
}

int main(int argc, char **argv)
{
    uint32_t sections = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    static char text[SECTION_SIZE];
    uint64_t sum = 0;
    for (uint32_t section = 0; section < sections; section++) {
        write_section(text, section);
        sum = sum * 31 + checksum(text, SECTION_SIZE);
    }
    printf("%u sections, %016lx\n", sections, (unsigned long)sum);
    return 0;
}
