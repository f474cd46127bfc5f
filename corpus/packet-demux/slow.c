/* A host's network stack in small: finds each packet's connection and hands it to its protocol. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct packet {
    uint32_t source, target;
    uint16_t source_port, target_port;
    uint8_t protocol, length;
    uint16_t checksum;
    uint32_t sequence;
    uint8_t payload[96];
};

struct connection;
typedef void (*deliver)(struct connection *, const struct packet *);

struct connection {
    struct connection *next;
    uint32_t remote, local;
    uint16_t remote_port, local_port;
    deliver deliver;
    uint32_t expected;
    uint64_t bytes, packets, disorder, digest;
};

struct stack {
    struct connection *connections;
    uint64_t no_port, bad;
};

static uint16_t internet_sum(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void deliver_stream(struct connection *c, const struct packet *p)
{
    if (p->sequence != c->expected)
        c->disorder++;
    c->expected = p->sequence + p->length;
    for (size_t i = 0; i < p->length; i += 4)
        c->digest = c->digest * 31 + p->payload[i];
    c->bytes += p->length;
}

static void deliver_datagram(struct connection *c, const struct packet *p)
{
    c->digest += (uint64_t)p->payload[0] << 8 | p->length;
    c->bytes += p->length;
}

static struct connection *lookup(const struct stack *s, const struct packet *p)
{
    for (struct connection *c = s->connections; c; c = c->next)
        if (c->remote_port == p->source_port && c->local_port == p->target_port
            && c->remote == p->source && c->local == p->target)
            return c;
    return NULL;
}

static void input(struct stack *s, const struct packet *p)
{
    if (internet_sum(p->payload, p->length) != p->checksum) {
        s->bad++;
        return;
    }
    struct connection *c = lookup(s, p);
    if (!c) {
        s->no_port++;
        return;
    }
    c->packets++;
    c->deliver(c, p);
}

int main(int argc, char **argv)
{
    size_t hosts = argc > 1 ? strtoul(argv[1], 0, 10) : 60;
    size_t count = argc > 2 ? strtoul(argv[2], 0, 10) : 5000;
    int rounds = argc > 3 ? atoi(argv[3]) : 100;
    struct stack stack = {0};
    struct connection **all = calloc(hosts, sizeof *all);
    uint32_t state = 11;
    for (size_t i = 0; i < hosts; i++) {
        state = state * 1664525 + 1013904223;
        struct connection *c = calloc(1, sizeof *c);
        c->remote = 0x0a000000 + (state >> 12);
        c->local = 0xc0a80001;
        c->remote_port = (uint16_t)(1024 + (state >> 17));
        c->local_port = i % 3 ? 443 : 53;
        c->deliver = i % 3 ? deliver_stream : deliver_datagram;
        c->next = stack.connections;
        stack.connections = all[i] = c;
    }
    struct packet *packets = calloc(count, sizeof *packets);
    struct connection *from = all[0];
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        if ((state >> 20) % 9 == 0)
            from = all[(state >> 8) % hosts];
        struct packet *p = &packets[i];
        *p = (struct packet){from->remote, from->local, from->remote_port, from->local_port,
                             from->local_port == 53 ? 17 : 6, (uint8_t)(64 + (state >> 27)), 0, state & 1023, {0}};
        for (size_t b = 0; b < p->length; b++)
            p->payload[b] = (uint8_t)(state >> (b & 15));
        p->checksum = internet_sum(p->payload, p->length);
        if (state >> 24 == 77)
            p->checksum ^= 1;
    }
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < count; i++)
            input(&stack, &packets[i]);
    uint64_t sum = stack.bad * 7 + stack.no_port;
    for (size_t i = 0; i < hosts; i++)
        sum = sum * 31 + all[i]->digest + all[i]->bytes + all[i]->packets + all[i]->disorder;
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
