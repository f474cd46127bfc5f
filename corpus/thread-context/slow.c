/* A scanner that keeps its state in a per-thread context, reached through a
 * pthread key from wherever it is wanted. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct context {
    unsigned line, column, depth, deepest;
    uint64_t digest;
};

static pthread_key_t context_key;

static struct context *current(void)
{
    return pthread_getspecific(context_key);
}

static void advance(char c)
{
    struct context *context = current();
    context->column++;
    if (c == '\n') {
        context->line++;
        context->column = 0;
    }
}

static void nest(int by)
{
    struct context *context = current();
    context->depth += by;
    if (context->depth > context->deepest)
        context->deepest = context->depth;
}

static void scan(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        advance(c);
        if (c == '{' || c == '[')
            nest(1);
        else if (c == '}' || c == ']')
            nest(-1);
        else if (c == ':') {
            struct context *context = current();
            context->digest = context->digest * 31 + context->column;
        }
    }
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 1000;
    static const char text[] =
        "{ \"name\": \"first\", \"list\": [1, 2, 3, [4, 5]], \"inner\": { \"a\": 1 } }\n"
        "{ \"name\": \"second\", \"list\": [6, 7, [8]], \"inner\": { \"b\": 2, \"c\": {} } }\n";
    struct context context = {0};
    pthread_key_create(&context_key, NULL);
    pthread_setspecific(context_key, &context);
    for (int i = 0; i < repeats; i++)
        scan(text, sizeof text - 1);
    printf("%u lines, depth %u, %016llx\n", context.line, context.deepest,
           (unsigned long long)context.digest);
    return 0;
}
