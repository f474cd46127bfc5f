/* Checks the words of a text against a dictionary that a child process serves by a socket. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4096, WORD_SIZE = 12, WINDOW = 64 };

struct question {
    char word[WORD_SIZE];
};

static void make_word(char *word, uint32_t number)
{
    memset(word, 0, WORD_SIZE);
    for (int at = 0; at < 6; at++, number /= 13)
        word[at] = (char)('a' + (number * 7 + (uint32_t)at) % 26);
}

static int find_word(char (*words)[WORD_SIZE], const char *word)
{
    int low = 0, high = WORDS;
    while (low < high) {
        int middle = (low + high) / 2;
        if (memcmp(words[middle], word, WORD_SIZE) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < WORDS && memcmp(words[low], word, WORD_SIZE) == 0;
}

static int compare_words(const void *a, const void *b)
{
    return memcmp(a, b, WORD_SIZE);
}

static void serve_dictionary(int fd)
{
    static char words[WORDS][WORD_SIZE];
    struct question questions[WINDOW];
    for (uint32_t w = 0; w < WORDS; w++)
        make_word(words[w], w * 3);
    qsort(words, WORDS, WORD_SIZE, compare_words);
    ssize_t size;
    while ((size = read(fd, questions, sizeof questions)) > 0) {
        uint8_t answers[WINDOW];
        size_t count = (size_t)size / sizeof *questions;
        for (size_t q = 0; q < count; q++)
            answers[q] = (uint8_t)find_word(words, questions[q].word);
        if (write(fd, answers, count) != (ssize_t)count)
            return;
    }
}

/* Asks for `count` words; the number of those that are known. */
static unsigned ask(int fd, const struct question *questions, size_t count)
{
    uint8_t answers[WINDOW];
    size_t have = 0;
    unsigned known = 0;
    if (write(fd, questions, count * sizeof *questions) < 0)
        exit(1);
    while (have < count) {
        ssize_t size = read(fd, answers + have, count - have);
        if (size <= 0)
            exit(1);
        have += (size_t)size;
    }
    for (size_t a = 0; a < count; a++)
        known += answers[a];
    return known;
}

static unsigned check_text(int fd, unsigned text_words)
{
    unsigned known = 0;
    uint32_t state = 15;
    size_t count = 0;
    struct question questions[WINDOW];
    for (unsigned w = 0; w < text_words; w++) {
        state = state * 1664525 + 1013904223;
        /* Endings are cut until the stem settles. */
        uint32_t stem = state >> 8;
        for (int cut = 0; cut < 2500; cut++)
            stem = stem % 7 == 3 ? stem / 2 + 99991 : stem * 5 / 4 % 16000057;
        make_word(questions[count++].word, stem % 16384);
        known += ask(fd, questions, count);
        count = 0;
    }
    return known + ask(fd, questions, count);
}

int main(int argc, char **argv)
{
    unsigned text_words = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        perror("socketpair");
        return 1;
    }
    pid_t server = fork();
    if (server == 0) {
        close(ends[0]);
        serve_dictionary(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    printf("%u of %u words known\n", check_text(ends[0], text_words), text_words);
    close(ends[0]);
    waitpid(server, NULL, 0);
    return 0;
}
