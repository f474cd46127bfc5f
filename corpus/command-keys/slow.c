/* A cluster node's command loop: finds a command's keys and the slot that they belong to. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PREALLOCATED = 256, SLOTS = 16384 };

struct key_reference {
    int position, flags;
};

struct key_result {
    struct key_reference buffer[MAX_PREALLOCATED];
    struct key_reference *keys; /* the buffer, or the heap's when there are more */
    int count, size;
};

struct command {
    int argc;
    const char *argv[8];
    int first, last, step; /* where its keys are */
};

static uint16_t crc_table[256];

static unsigned slot_of(const char *key)
{
    uint16_t crc = 0;
    for (; *key; key++)
        crc = (uint16_t)(crc << 8) ^ crc_table[(crc >> 8 ^ (unsigned char)*key) & 255];
    return crc % SLOTS;
}

static struct key_reference *room_for(struct key_result *r, int count)
{
    if (count > r->size) {
        r->keys = malloc((size_t)count * sizeof *r->keys);
        r->size = count;
    }
    return r->keys;
}

static void find_keys(const struct command *c, struct key_result *result)
{
    int last = c->last < 0 ? c->argc + c->last : c->last;
    struct key_reference *keys = room_for(result, (last - c->first) / c->step + 1);
    for (int i = c->first; i <= last && i < c->argc; i += c->step)
        keys[result->count++] = (struct key_reference){i, 1};
}

/* The slot of all keys of a command, or -1 when they lie in several. */
static int slot_of_command(const struct command *c)
{
    struct key_result result = {0};
    result.keys = result.buffer;
    result.size = MAX_PREALLOCATED;
    find_keys(c, &result);
    int slot = -1;
    for (int i = 0; i < result.count; i++) {
        int own = (int)slot_of(c->argv[result.keys[i].position]);
        if (slot >= 0 && own != slot) {
            slot = -1;
            break;
        }
        slot = own;
    }
    if (result.keys != result.buffer)
        free(result.keys);
    return slot;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    for (unsigned i = 0; i < 256; i++) {
        uint16_t crc = (uint16_t)(i << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
        crc_table[i] = crc;
    }
    struct command *commands = calloc(count, sizeof *commands);
    char (*names)[16] = calloc(count, sizeof *names);
    uint32_t state = 31;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        snprintf(names[i], sizeof names[i], "key:%012u", state >> 12);
        int sets = state >> 31;
        commands[i] = (struct command){2 + sets, {sets ? "SET" : "GET", names[i], "value"}, 1, 1, 1};
        if (state % 8 == 0)
            commands[i] = (struct command){3, {"MGET", names[i], names[i]}, 1, -1, 1};
    }
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < count; i++)
            sum = sum * 7 + (uint64_t)slot_of_command(&commands[i]);
    printf("%016llx\n", (unsigned long long)sum);
    free(names);
    free(commands);
    return 0;
}
