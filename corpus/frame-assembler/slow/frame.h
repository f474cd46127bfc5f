#include <stddef.h>
#include <stdint.h>

enum { PAYLOAD_MAX = 4096, EXTENSIONS_MAX = 16 };

struct extension {
    uint16_t kind, length;
    uint32_t value;
};

struct frame {
    uint32_t source, target, sequence;
    uint16_t flags, extension_count;
    uint32_t length;
    struct extension extensions[EXTENSIONS_MAX];
    unsigned char payload[PAYLOAD_MAX];
};

void frame_start(struct frame *frame, uint32_t source, uint32_t target, uint32_t sequence);
int frame_extend(struct frame *frame, uint16_t kind, uint32_t value);
int frame_append(struct frame *frame, const void *bytes, size_t length);
size_t frame_write(const struct frame *frame, unsigned char *to);
