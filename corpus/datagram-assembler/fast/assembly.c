#include "assembly.h"
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16 };

struct slot {
    uint16_t id, received, expected;
    struct datagram *whole;
};

struct assembler {
    struct socket_queue *queue;
    struct slot slot[SLOTS];
};

struct assembler *assembler_new(struct socket_queue *queue)
{
    struct assembler *a = aligned_alloc(64, (sizeof *a + 63) / 64 * 64);
    memset(a, 0, sizeof *a);
    a->queue = queue;
    for (int i = 0; i < SLOTS; i++)
        a->slot[i].whole = aligned_alloc(64, sizeof *a->slot[i].whole);
    return a;
}

void assembler_free(struct assembler *a)
{
    for (int i = 0; i < SLOTS; i++)
        free(a->slot[i].whole);
    free(a);
}

static struct datagram *exchange(struct socket_queue *q, struct datagram *d)
{
    struct datagram **place = &q->ring[q->tail++ % q->capacity], *spare = *place;
    *place = d;
    return spare;
}

void assembler_receive(struct assembler *a, const struct fragment *f)
{
    struct slot *s = &a->slot[f->id % SLOTS];
    if (s->id != f->id) {
        s->id = f->id;
        s->received = s->expected = 0;
    }
    unsigned index = f->offset / FRAGMENT;
    memcpy(s->whole->data + index * FRAGMENT, f->data, f->length);
    s->received++;
    if (f->last) {
        s->expected = (uint16_t)(index + 1);
        s->whole->id = f->id;
        s->whole->length = (uint16_t)(index * FRAGMENT + f->length);
    }
    if (s->received == s->expected) {
        s->whole = exchange(a->queue, s->whole);
        s->received = s->expected = 0;
    }
}
