/* A register machine with threaded code (GNU C's labels as values). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum op { LOAD, ADD, SUB, MUL, XOR, SHIFT, STORE, DECREMENT, JUMP_NOT_ZERO, STOP };

struct instruction {
    uint8_t op, a, b, c;
    int32_t k;
};

static int64_t run(const struct instruction *code, int64_t *r, int64_t *memory)
{
    static const void *const labels[] = {&&load, &&add, &&sub, &&mul, &&xor, &&shift,
                                         &&store, &&decrement, &&jump_not_zero, &&stop};
    const struct instruction *at = code;
#define NEXT goto *labels[at->op]
    NEXT;
load:
    r[at->a] = memory[r[at->b] & 255];
    at++;
    NEXT;
add:
    r[at->a] = r[at->b] + r[at->c];
    at++;
    NEXT;
sub:
    r[at->a] = r[at->b] - r[at->c];
    at++;
    NEXT;
mul:
    r[at->a] = (int64_t)((uint64_t)r[at->b] * (uint64_t)at->k);
    at++;
    NEXT;
xor:
    r[at->a] = r[at->b] ^ r[at->c];
    at++;
    NEXT;
shift:
    r[at->a] = (int64_t)((uint64_t)r[at->b] >> at->k);
    at++;
    NEXT;
store:
    memory[r[at->b] & 255] = r[at->a];
    at++;
    NEXT;
decrement:
    r[at->a]--;
    at++;
    NEXT;
jump_not_zero:
    at = r[at->a] ? at + at->k : at + 1;
    NEXT;
stop:
    return r[0];
}

int main(int argc, char **argv)
{
    static const struct instruction program[] = {
        {LOAD, 2, 1, 0, 0}, {ADD, 0, 0, 2, 0}, {MUL, 3, 1, 0, 40503}, {SHIFT, 4, 3, 0, 7},
        {XOR, 5, 4, 2, 0}, {STORE, 5, 3, 0, 0}, {SUB, 6, 5, 1, 0}, {LOAD, 7, 6, 0, 0},
        {ADD, 0, 0, 7, 0}, {DECREMENT, 1, 0, 0, 0}, {JUMP_NOT_ZERO, 1, 0, 0, -10}, {STOP, 0, 0, 0, 0},
    };
    int64_t r[8] = {0}, memory[256];
    for (int i = 0; i < 256; i++)
        memory[i] = i * 2654435761;
    r[1] = argc > 1 ? atol(argv[1]) : 100000;
    printf("%016llx\n", (unsigned long long)run(program, r, memory));
    return 0;
}
