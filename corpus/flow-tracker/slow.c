/* Follows the connections that packets belong to: counts, last time seen, state of the handshake. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct endpoints {
    uint32_t source, target;
    uint16_t source_port, target_port;
};

struct flow {
    struct endpoints key;
    uint32_t interface;
    char server_name[72];
    uint8_t certificate[32];
    uint32_t first_seen, last_seen;
    uint32_t size_histogram[12];
    uint8_t peer_address[16];
    uint64_t packets;
    char label[56];
    uint16_t state, rule;
    uint32_t mark;
    uint8_t session_id[48];
    uint64_t bytes;
    char country[8], operator[40];
};

enum { FIN = 1, SYN = 2, PUSH = 8, ACK = 16 };

struct packet {
    struct endpoints ends;
    uint32_t flow;
    uint16_t length, flags;
};

struct tracker {
    struct flow *flow;
    uint32_t count;
    uint64_t mismatched, closed;
};

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    return x ^ x >> 16;
}

static struct endpoints endpoints_of(uint32_t number)
{
    return (struct endpoints){mix(number), 0x0a000000 | number % 5000, (uint16_t)(1024 + number % 60000), 443};
}

static void open_flows(struct tracker *t, uint32_t count)
{
    t->count = count;
    t->flow = aligned_alloc(64, sizeof *t->flow * count);
    memset(t->flow, 0, sizeof *t->flow * count);
    for (uint32_t i = 0; i < count; i++) {
        struct flow *f = &t->flow[i];
        f->key = endpoints_of(i);
        snprintf(f->server_name, sizeof f->server_name, "host-%u.example", i % 5000);
        f->first_seen = f->last_seen = 1000;
        f->rule = (uint16_t)(i % 64);
    }
}

static void receive(struct tracker *t, const struct packet *p, uint32_t now)
{
    struct flow *f = &t->flow[p->flow];
    if (f->key.source != p->ends.source || f->key.source_port != p->ends.source_port) {
        t->mismatched++;
        return;
    }
    f->packets++;
    f->bytes += p->length;
    f->last_seen = now;
    f->state |= p->flags;
    if (p->flags & FIN) {
        t->closed++;
        f->mark = f->rule;
    }
}

static void make_packets(struct packet *packets, size_t count, uint32_t flows)
{
    uint32_t state = 77;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t r = mix(state);
        uint32_t flow = r % flows;
        uint16_t flags = r % 401 == 0 ? FIN | ACK : r % 7 == 0 ? PUSH | ACK : ACK;
        packets[i] = (struct packet){endpoints_of(flow), flow, (uint16_t)(40 + (r >> 7) % 1460), flags};
    }
}

int main(int argc, char **argv)
{
    uint32_t flows = argc > 1 ? (uint32_t)atoi(argv[1]) : 10000;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    enum { BATCH = 1 << 19 };
    struct packet *packets = malloc(sizeof *packets * BATCH);
    make_packets(packets, BATCH, flows);
    struct tracker t = {0};
    open_flows(&t, flows);
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < BATCH; i++)
            receive(&t, &packets[i], 1000 + (uint32_t)r);
    uint64_t sum = t.mismatched;
    for (uint32_t i = 0; i < flows; i += 64)
        sum = sum * 31 + (t.flow[i].packets ^ t.flow[i].bytes ^ t.flow[i].last_seen);
    printf("%llu closed, %016llx\n", (unsigned long long)t.closed, (unsigned long long)sum);
    free(t.flow);
    free(packets);
    return 0;
}
