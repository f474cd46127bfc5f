/* The inner loop of a key–value server: reads requests, answers, writes a log. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_DEBUG, LEVEL_NOTICE, LEVEL_ERROR };
enum { SLOTS = 1 << 14, MAX_NAME = 24 };

struct request {
    char name[MAX_NAME];
    uint64_t value;
    char verb; /* g or s */
};

struct server {
    uint64_t *values;
    int level;
    uint64_t logged_bytes;
};

/* Writes a message to the log if its level is wanted. */
static void server_log(struct server *s, int level, const char *format, ...)
{
    if (level < s->level)
        return;
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    s->logged_bytes += (uint64_t)length;
}

static uint32_t slot_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % SLOTS;
}

static uint64_t answer(struct server *s, const struct request *r)
{
    uint32_t slot = slot_of(r->name);
    server_log(s, LEVEL_DEBUG, "request %c for %s, slot %u", r->verb, r->name, slot);
    if (r->verb == 's')
        s->values[slot] = r->value;
    if (s->values[slot] == UINT64_MAX)
        server_log(s, LEVEL_ERROR, "overflow in slot %u", slot);
    return s->values[slot];
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct server server = {calloc(SLOTS, sizeof(uint64_t)), LEVEL_NOTICE, 0};
    struct request *requests = calloc(count, sizeof *requests);
    uint32_t state = 3;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        snprintf(requests[i].name, MAX_NAME, "user:%u:%u", (state >> 20) % 999, state >> 28);
        requests[i].value = state;
        requests[i].verb = (state >> 27) % 4 ? 'g' : 's';
    }
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < count; i++)
            sum = sum * 33 + answer(&server, &requests[i]);
    printf("%016llx, %llu bytes logged\n", (unsigned long long)sum, (unsigned long long)server.logged_bytes);
    free(requests);
    free(server.values);
    return 0;
}
