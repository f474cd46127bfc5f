/* A lexicon of a text's words with their frequencies, made by two threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, LENGTH = 1 << 14, LETTERS = 16, SLOTS = 4096 };

struct lexicon {
    uint32_t words[SLOTS];
    uint64_t frequencies[SLOTS];
};

static char text[LENGTH][LETTERS];
static struct lexicon lexicon;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds = 100;

static uint32_t number_of(const char *word)
{
    uint32_t hash = 2166136261u;
    for (int i = 0; i < LETTERS; i++) hash = (hash ^ (unsigned char)word[i]) * 16777619u;
    return hash | 1;
}

static void add_word(struct lexicon *to, uint32_t word, uint64_t times)
{
    uint32_t at = word * 2654435761u >> 20;
    while (to->words[at] && to->words[at] != word) at = (at + 1) % SLOTS;
    to->words[at] = word;
    to->frequencies[at] += times;
}

static void *read_part(void *argument)
{
    const char(*first)[LETTERS] = argument;
    for (int r = 0; r < rounds; r++)
        for (long i = 0; i < LENGTH / THREADS; i++) {
            uint32_t word = number_of(first[i]);
            pthread_mutex_lock(&lock);
            add_word(&lexicon, word, 1);
            pthread_mutex_unlock(&lock);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    uint32_t x = 1;
    for (int i = 0; i < LENGTH; i++) {
        x = x * 1664525u + 1013904223u;
        snprintf(text[i], LETTERS, "word-%u", (x >> 24) * (x >> 29));
    }
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, read_part, text + t * (LENGTH / THREADS));
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    uint64_t words = 0, sum = 0;
    for (int i = 0; i < SLOTS; i++) {
        words += lexicon.words[i] != 0;
        sum += lexicon.frequencies[i] * lexicon.words[i];
    }
    printf("%llu words, %llu\n", (unsigned long long)words, (unsigned long long)sum);
}
