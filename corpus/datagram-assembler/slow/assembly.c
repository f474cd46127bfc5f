#include "assembly.h"
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16 };

struct slot {
    uint16_t id, received, expected;
    struct fragment fragment[MAX_FRAGMENTS];
};

struct assembler {
    struct socket_queue *queue;
    struct slot slot[SLOTS];
    struct datagram whole;
};

struct assembler *assembler_new(struct socket_queue *queue)
{
    struct assembler *a = aligned_alloc(64, sizeof *a);
    memset(a, 0, sizeof *a);
    a->queue = queue;
    return a;
}

void assembler_free(struct assembler *a)
{
    free(a);
}

static void enqueue(struct socket_queue *q, const struct datagram *d)
{
    struct datagram *to = q->ring[q->tail++ % q->capacity];
    to->id = d->id;
    to->length = d->length;
    memcpy(to->data, d->data, d->length);
}

static void join(struct datagram *to, const struct slot *s)
{
    to->id = s->id;
    to->length = 0;
    for (int i = 0; i < s->expected; i++) {
        memcpy(to->data + to->length, s->fragment[i].data, s->fragment[i].length);
        to->length += s->fragment[i].length;
    }
}

void assembler_receive(struct assembler *a, const struct fragment *f)
{
    struct slot *s = &a->slot[f->id % SLOTS];
    if (s->id != f->id) {
        s->id = f->id;
        s->received = s->expected = 0;
    }
    unsigned index = f->offset / FRAGMENT;
    struct fragment *copy = &s->fragment[index];
    copy->length = f->length;
    memcpy(copy->data, f->data, f->length);
    s->received++;
    if (f->last)
        s->expected = (uint16_t)(index + 1);
    if (s->received == s->expected) {
        join(&a->whole, s);
        enqueue(a->queue, &a->whole);
        s->received = s->expected = 0;
    }
}
