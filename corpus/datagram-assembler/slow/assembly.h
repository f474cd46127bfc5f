#include <stddef.h>
#include <stdint.h>

enum { FRAGMENT = 1480, MAX_FRAGMENTS = 12 };

struct fragment {
    uint16_t id, offset, length;
    uint8_t last;
    _Alignas(64) uint8_t data[FRAGMENT];
};

struct datagram {
    uint16_t id, length;
    _Alignas(64) uint8_t data[FRAGMENT * MAX_FRAGMENTS];
};

struct socket_queue {
    struct datagram **ring;
    size_t head, tail, capacity;
};

struct assembler;

struct assembler *assembler_new(struct socket_queue *queue);
void assembler_free(struct assembler *a);
void assembler_receive(struct assembler *a, const struct fragment *f);
