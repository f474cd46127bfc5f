/* Builds an inverted index of generated documents: for each word the list of the
 * documents that hold it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct postings {
    uint32_t *document;
    size_t used, room;
};

struct index {
    size_t words;
    struct postings *postings;
};

static void postings_add(struct postings *p, uint32_t document)
{
    if (p->used && p->document[p->used - 1] == document)
        return;
    if (p->used == p->room) {
        p->room = p->room ? 2 * p->room : 4;
        p->document = realloc(p->document, p->room * sizeof *p->document);
        if (!p->document)
            abort();
    }
    p->document[p->used++] = document;
}

/* Words are drawn with a skew: some are in most documents, most in few. */
static void index_document(struct index *index, uint32_t document, uint32_t *state)
{
    for (int i = 0; i < 60; i++) {
        *state = *state * 1664525 + 1013904223;
        uint32_t a = *state >> 8 & 0xfff, b = *state >> 20;
        postings_add(&index->postings[(size_t)a * b / 4096 * index->words / 4096], document);
    }
}

static uint64_t digest(const struct index *index)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < index->words; w++) {
        const struct postings *p = &index->postings[w];
        sum = sum * 31 + p->used;
        if (p->used)
            sum += p->document[p->used / 2];
    }
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t documents = argc > 1 ? atoi(argv[1]) : 1000;
    struct index index = {argc > 2 ? strtoul(argv[2], 0, 10) : 500, NULL};
    uint32_t state = 5;
    index.postings = calloc(index.words, sizeof *index.postings);
    for (uint32_t d = 0; d < documents; d++)
        index_document(&index, d, &state);
    printf("%016llx\n", (unsigned long long)digest(&index));
    for (size_t w = 0; w < index.words; w++)
        free(index.postings[w].document);
    free(index.postings);
    return 0;
}
