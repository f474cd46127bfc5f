/* A tokenizer with usage statistics. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct statistics {
    unsigned long characters, words, longest;
};

static struct statistics statistics;

static uint64_t tokenize(const char *text)
{
    uint64_t digest = 0;
    unsigned long length = 0;
    for (; *text; text++) {
        statistics.characters++;
        if (*text != ' ') {
            digest = (digest << 1 | digest >> 63) ^ (unsigned char)*text;
            length++;
            continue;
        }
        statistics.words++;
        if (length > statistics.longest)
            statistics.longest = length;
        length = 0;
    }
    return digest;
}

int main(int argc, char **argv)
{
    int passes = argc > 1 ? atoi(argv[1]) : 1000;
    static const char text[] =
        "the quick brown fox jumps over the lazy dog while seventeen extraordinarily patient "
        "zoologists write down which of the animals moved first and why it mattered at all ";
    uint64_t digest = 0;
    for (int i = 0; i < passes; i++)
        digest = digest * 31 + tokenize(text + i % 4);
    printf("%lu characters, %lu words, longest %lu, %016llx\n", (unsigned long)statistics.characters,
           (unsigned long)statistics.words, (unsigned long)statistics.longest,
           (unsigned long long)digest);
    return 0;
}
