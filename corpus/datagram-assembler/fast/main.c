/* Puts fragmented datagrams together again and hands them to a reader that checks them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "assembly.h"

struct capture {
    struct fragment *fragment;
    size_t count;
};

static uint32_t state = 31;

static uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 9) % n;
}

static void record(struct capture *c, size_t datagrams)
{
    c->fragment = aligned_alloc(64, datagrams * MAX_FRAGMENTS * sizeof *c->fragment);
    for (size_t d = 0; d < datagrams; d++) {
        unsigned parts = 2 + random_below(MAX_FRAGMENTS - 1);
        size_t start = c->count;
        for (unsigned i = 0; i < parts; i++) {
            struct fragment *f = &c->fragment[c->count++];
            f->id = (uint16_t)(d + 1);
            f->offset = (uint16_t)(i * FRAGMENT);
            f->last = i + 1 == parts;
            f->length = f->last ? (uint16_t)(1 + random_below(FRAGMENT)) : FRAGMENT;
            for (unsigned b = 0; b < f->length; b++)
                f->data[b] = (uint8_t)(d + b * (i + 3));
        }
        struct fragment swap = c->fragment[start];
        c->fragment[start] = c->fragment[start + 1];
        c->fragment[start + 1] = swap;
    }
}

static uint32_t ones_complement(const uint8_t *data, size_t length)
{
    uint64_t sum = 0;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        sum += word;
        sum += sum < word;
    }
    for (; i < length; i++)
        sum += data[i];
    sum = (sum >> 32) + (uint32_t)sum;
    return (uint32_t)((sum >> 32) + (uint32_t)sum);
}

static uint64_t read_all(struct socket_queue *q, uint64_t digest)
{
    for (; q->head != q->tail; q->head++) {
        const struct datagram *d = q->ring[q->head % q->capacity];
        digest = digest * 1099511628211u + ones_complement(d->data, d->length) + d->id;
    }
    return digest;
}

int main(int argc, char **argv)
{
    size_t datagrams = argc > 1 ? strtoul(argv[1], 0, 10) : 100;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    struct capture capture = {0};
    record(&capture, datagrams);
    struct datagram *ring[8];
    for (int i = 0; i < 8; i++)
        ring[i] = aligned_alloc(64, sizeof *ring[i]);
    struct socket_queue queue = {ring, 0, 0, 8};
    struct assembler *a = assembler_new(&queue);
    uint64_t digest = 0;
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < capture.count; i++) {
            assembler_receive(a, &capture.fragment[i]);
            if (capture.fragment[i].last)
                digest = read_all(&queue, digest);
        }
    printf("%zu datagrams, %016llx\n", queue.tail, (unsigned long long)digest);
    assembler_free(a);
    for (int i = 0; i < 8; i++)
        free(ring[i]);
    free(capture.fragment);
    return 0;
}
