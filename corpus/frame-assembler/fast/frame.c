#include "frame.h"

#include <string.h>

void frame_start(struct frame *frame, uint32_t source, uint32_t target, uint32_t sequence)
{
    memset(frame, 0, offsetof(struct frame, extensions));
    frame->source = source;
    frame->target = target;
    frame->sequence = sequence;
}

int frame_extend(struct frame *frame, uint16_t kind, uint32_t value)
{
    if (frame->extension_count == EXTENSIONS_MAX)
        return 0;
    frame->extensions[frame->extension_count++] = (struct extension){kind, sizeof value, value};
    frame->flags |= 1;
    return 1;
}

int frame_append(struct frame *frame, const void *bytes, size_t length)
{
    if (length > PAYLOAD_MAX - frame->length)
        return 0;
    memcpy(frame->payload + frame->length, bytes, length);
    frame->length += (uint32_t)length;
    return 1;
}

static unsigned char *put32(unsigned char *to, uint32_t value)
{
    to[0] = (unsigned char)(value >> 24);
    to[1] = (unsigned char)(value >> 16);
    to[2] = (unsigned char)(value >> 8);
    to[3] = (unsigned char)value;
    return to + 4;
}

size_t frame_write(const struct frame *frame, unsigned char *to)
{
    unsigned char *at = to;
    at = put32(at, frame->source);
    at = put32(at, frame->target);
    at = put32(at, frame->sequence);
    at = put32(at, (uint32_t)frame->flags << 16 | frame->extension_count);
    for (unsigned i = 0; i < frame->extension_count; i++) {
        at = put32(at, (uint32_t)frame->extensions[i].kind << 16 | frame->extensions[i].length);
        at = put32(at, frame->extensions[i].value);
    }
    at = put32(at, frame->length);
    memcpy(at, frame->payload, frame->length);
    at += frame->length;
    uint32_t low = 1, high = 0;
    for (const unsigned char *p = to; p < at; p++) {
        low += *p;
        high += low;
    }
    at = put32(at, (high % 65521) << 16 | low % 65521);
    return (size_t)(at - to);
}
