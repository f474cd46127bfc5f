/* A tokenizer with usage statistics, kept in atomic counters for a metrics thread that
 * this tool does not have. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct statistics {
    atomic_ulong characters, words, longest;
};

static struct statistics statistics;

static uint64_t tokenize(const char *text)
{
    uint64_t digest = 0;
    unsigned long length = 0;
    for (; *text; text++) {
        atomic_fetch_add(&statistics.characters, 1);
        if (*text != ' ') {
            digest = (digest << 1 | digest >> 63) ^ (unsigned char)*text;
            length++;
            continue;
        }
        atomic_fetch_add(&statistics.words, 1);
        if (length > atomic_load_explicit(&statistics.longest, memory_order_relaxed))
            atomic_store_explicit(&statistics.longest, length, memory_order_relaxed);
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
