// Scores messages by rules that are registered as callbacks, with words of the subject as their input.
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 2000, MAX_WORDS = 24 };

struct message {
    char subject[160];
    int sender;
};

struct features {
    uint32_t words[MAX_WORDS];
    int count;
    int capitals;
};

struct context {
    unsigned char known[256];
    struct features features;
    long scored, score;
};

typedef int (*rule)(const struct features *);

static int many_capitals(const struct features *features) { return features->capitals > 20 ? 3 : 0; }

static int repeated_word(const struct features *features)
{
    int found = 0;
    for (int w = 1; w < features->count; w++)
        found += features->words[w] == features->words[w - 1];
    return found;
}

static const rule rules[] = {many_capitals, repeated_word};

/* Hashes of the words in lower case, and how many letters are capitals. */
static void extract(const char *subject, struct features *features)
{
    features->count = 0;
    features->capitals = 0;
    uint32_t hash = 0;
    for (const char *at = subject;; at++) {
        unsigned char c = (unsigned char)*at;
        if (isalnum(c)) {
            features->capitals += c >= 'A' && c <= 'Z';
            hash = hash * 31 + (uint32_t)tolower(c);
        } else {
            if (hash && features->count < MAX_WORDS)
                features->words[features->count++] = hash;
            hash = 0;
            if (!c)
                break;
        }
    }
}

static void judge(const struct message *message, void *data)
{
    struct context *context = data;
    extract(message->subject, &context->features);
    if (context->known[message->sender])
        return;
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        context->score += rules[r](&context->features);
    context->scored++;
}

static void for_each(const struct message *messages, int count, void (*visit)(const struct message *, void *), void *data)
{
    for (int m = 0; m < count; m++)
        visit(&messages[m], data);
}

int main(int argc, char **argv)
{
    static const char *const words[] = {"Report", "OFFER", "meeting", "free", "Budget", "re", "URGENT", "notes", "holiday", "invoice"};
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    static struct message messages[MESSAGES];
    static struct context context;
    uint32_t state = 17;
    for (int m = 0; m < MESSAGES; m++) {
        for (int w = 0; w < 12; w++) {
            state = state * 1664525 + 1013904223;
            strcat(messages[m].subject, words[(state >> 20) % 10]);
            strcat(messages[m].subject, " ");
        }
        messages[m].sender = (int)(state >> 24);
    }
    for (int s = 0; s < 256; s++)
        context.known[s] = s % 8 != 3;
    for (int r = 0; r < rounds; r++)
        for_each(messages, MESSAGES, judge, &context);
    printf("%ld %ld\n", context.scored, context.score);
}
