/* A generic open-addressing table, with the caller's functions for hashing and
 * equality (integers by default), counting how often each key occurs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t (*hash_fn)(uint64_t key);
typedef bool (*equal_fn)(uint64_t a, uint64_t b);

struct slot {
    uint64_t key;
    uint64_t count;
};

struct table {
    hash_fn hash;
    equal_fn equal;
    uint32_t mask;
    struct slot *slots;
};

static uint32_t hash_integer(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40);
}

static bool equal_integer(uint64_t a, uint64_t b)
{
    return a == b;
}

static uint32_t hash_text(uint64_t key)
{
    uint32_t h = 0;
    for (const char *c = (const char *)(uintptr_t)key; *c; c++)
        h = h * 31 + (unsigned char)*c;
    return h;
}

static bool equal_text(uint64_t a, uint64_t b)
{
    return a == b || (a && b && strcmp((char *)(uintptr_t)a, (char *)(uintptr_t)b) == 0);
}

/* The default functions are tested for, and inlined where they are called. */
static inline uint32_t hash_of(const struct table *t, uint64_t key)
{
    return t->hash == hash_integer ? hash_integer(key) : t->hash(key);
}

static inline bool equal_of(const struct table *t, uint64_t a, uint64_t b)
{
    return t->equal == equal_integer ? a == b : t->equal(a, b);
}

static void table_count(struct table *t, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t at = hash_of(t, keys[i]) & t->mask;
        while (t->slots[at].count && !equal_of(t, t->slots[at].key, keys[i]))
            at = (at + 1) & t->mask;
        t->slots[at].key = keys[i];
        t->slots[at].count++;
    }
}

int main(int argc, char **argv)
{
    size_t distinct = argc > 1 ? strtoul(argv[1], 0, 10) : 500;
    int batches = argc > 2 ? atoi(argv[2]) : 100;
    struct table t = {.hash = hash_integer, .equal = equal_integer, .mask = 2047};
    if (argc > 3 && strcmp(argv[3], "text") == 0) {
        t.hash = hash_text;
        t.equal = equal_text;
    }
    t.slots = calloc(t.mask + 1, sizeof *t.slots);
    static uint64_t keys[4096];
    for (size_t i = 0; i < 4096; i++)
        keys[i] = t.hash == hash_text ? (uintptr_t)argv[i % argc] : i * 7 % distinct * 64;
    for (int b = 0; b < batches; b++) {
        uint64_t first = keys[b & 4095];
        keys[b & 4095] = keys[b * 5 & 4095];
        keys[b * 5 & 4095] = first;
        table_count(&t, keys, 4096);
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= t.mask; i++)
        sum += t.slots[i].key / 64 * t.slots[i].count;
    printf("%llu\n", (unsigned long long)sum);
    free(t.slots);
    return 0;
}
