/* A server's table of sessions: requests look a session up, check it, and count. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
    uint64_t id;
    char user[56];
    uint32_t expires;
    char address[60];
    uint32_t requests;
    char agent[120];
    uint64_t bytes;
};

struct table {
    struct session *sessions;
    size_t count; /* a power of two */
};

static uint64_t serve(struct table *t, uint64_t id, uint32_t now, uint32_t bytes)
{
    struct session *s = &t->sessions[id & (t->count - 1)];
    if (s->id != id || s->expires < now)
        return 0;
    s->requests++;
    s->bytes += bytes;
    return s->bytes;
}

int main(int argc, char **argv)
{
    struct table t = {NULL, (size_t)1 << (argc > 1 ? atoi(argv[1]) : 12)};
    size_t requests = argc > 2 ? strtoul(argv[2], 0, 10) : 100000;
    t.sessions = calloc(t.count, sizeof *t.sessions);
    for (size_t i = 0; i < t.count; i++) {
        t.sessions[i].id = i + (i % 500 == 0 ? t.count : 0);
        t.sessions[i].expires = i % 331 ? 2000000 : 5;
    }
    uint64_t sum = 0, state = 88172645463325252;
    for (size_t r = 0; r < requests; r++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        sum += serve(&t, state & (t.count - 1), 1000, (uint32_t)(state >> 52));
    }
    printf("%016llx\n", (unsigned long long)sum);
    free(t.sessions);
    return 0;
}
