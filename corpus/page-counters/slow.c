/* Counts requests and bytes by path from an access log that several threads read. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, PATHS = 512, LINES_IN_BLOCK = 256, LINE_SIZE = 96 };

struct block {
    char text[LINES_IN_BLOCK * LINE_SIZE];
    size_t size;
};

struct table {
    pthread_mutex_t lock;
    uint64_t requests[PATHS], bytes[PATHS];
};

struct reader {
    struct table *table;
    unsigned blocks;
    uint32_t state;
    struct block block;
};

/* The next lines of this reader's part of the log. */
static void read_block(struct reader *reader)
{
    struct block *block = &reader->block;
    block->size = 0;
    for (int line = 0; line < LINES_IN_BLOCK; line++) {
        reader->state = reader->state * 1664525 + 1013904223;
        char *to = block->text + block->size;
        memcpy(to, "10.0.0.1 GET /shop/item/000 200 00000\n", 38);
        unsigned item = reader->state >> 23, size = reader->state >> 7 & 16383;
        for (int at = 26; at > 23; at--, item /= 10)
            to[at] = (char)('0' + item % 10);
        for (int at = 36; at > 31; at--, size /= 10)
            to[at] = (char)('0' + size % 10);
        block->size += 38;
    }
}

/* Field number `wanted` of a line, as a number from its last slash or its start. */
static unsigned field_number(const char *line, int wanted)
{
    int field = 0;
    unsigned number = 0;
    for (; *line != '\n'; line++) {
        if (*line == ' ') {
            field++;
        } else if (field == wanted) {
            number = *line == '/' ? 0 : *line >= '0' && *line <= '9' ? number * 10 + (unsigned)(*line - '0') : number;
        }
    }
    return number;
}

static void count_block(struct table *table, const struct block *block)
{
    pthread_mutex_lock(&table->lock);
    for (size_t at = 0; at < block->size; at += 38) {
        const char *line = block->text + at;
        unsigned path = field_number(line, 2) % PATHS;
        table->requests[path]++;
        table->bytes[path] += field_number(line, 4);
    }
    pthread_mutex_unlock(&table->lock);
}

static void *read_log(void *argument)
{
    struct reader *reader = argument;
    for (unsigned block = 0; block < reader->blocks; block++) {
        read_block(reader);
        count_block(reader->table, &reader->block);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    static struct table table = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static struct reader readers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        readers[t].table = &table;
        readers[t].blocks = blocks;
        readers[t].state = t + 1;
        pthread_create(&threads[t], NULL, read_log, &readers[t]);
    }
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    uint64_t sum = 0;
    for (int path = 0; path < PATHS; path++)
        sum = sum * 31 + table.requests[path] + table.bytes[path];
    printf("%016lx\n", (unsigned long)sum);
    return 0;
}
