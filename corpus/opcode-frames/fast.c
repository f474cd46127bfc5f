/* Entering functions of a small virtual machine: arguments are placed by the function's signature. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 4096, NIL = 0 };

struct signature {
    int required, optional, rest, after; /* parameters in this order */
};

struct function {
    struct signature takes;
    int registers;
    int kind; /* what its body does */
};

struct machine {
    uint64_t stack[STACK];
    int base;
    uint64_t calls, lists;
};

/* Places argc arguments, which lie at the new frame's start, as the signature says. */
static void enter(struct machine *m, const struct function *f, int argc)
{
    uint64_t *frame = m->stack + m->base;
    const struct signature *s = &f->takes;
    if (argc == s->required && !(s->optional | s->rest | s->after)) {
        for (int i = argc; i < f->registers; i++)
            frame[i] = NIL;
        m->calls++;
        return;
    }
    uint64_t given[32];
    int count = argc < 32 ? argc : 32;
    memcpy(given, frame, (size_t)count * sizeof *given);
    int wanted = s->required + s->optional + s->rest + s->after;
    int at = 0, from = 0;
    for (int i = 0; i < s->required; i++)
        frame[at++] = from < count ? given[from++] : NIL;
    int spare = count - s->required - s->after;
    for (int i = 0; i < s->optional; i++)
        frame[at++] = spare > 0 ? (spare--, given[from++]) : NIL;
    if (s->rest) {
        uint64_t list = 1;
        for (; spare > 0; spare--)
            list = list * 31 + given[from++];
        frame[at++] = list;
        m->lists++;
    }
    for (int i = 0; i < s->after; i++)
        frame[at++] = from < count ? given[from++] : NIL;
    for (int i = wanted; i < f->registers; i++)
        frame[i] = NIL;
    m->calls++;
}

static uint64_t call(struct machine *m, const struct function *f, int argc)
{
    enter(m, f, argc);
    uint64_t *frame = m->stack + m->base;
    switch (f->kind) {
    case 0: return frame[0] + frame[1];
    case 1: return frame[0] ^ frame[1] >> 3;
    case 2: return frame[0] > frame[1] ? frame[0] : frame[1];
    default: return frame[0] + frame[1] * 3 + frame[2];
    }
}

static uint64_t run(struct machine *m, const struct function *functions, const uint8_t *program, size_t length)
{
    uint64_t result = 1;
    for (size_t i = 0; i < length; i++) {
        const struct function *f = &functions[program[i]];
        uint64_t *arguments = m->stack + (m->base += 8);
        arguments[0] = result;
        arguments[1] = i;
        arguments[2] = i >> 2;
        result = call(m, f, 2 + (program[i] == 3));
        m->base -= 8;
    }
    return result;
}

int main(int argc, char **argv)
{
    size_t length = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    static const struct function functions[] = {
        {{2, 0, 0, 0}, 4, 0}, {{2, 0, 0, 0}, 3, 1}, {{2, 0, 0, 0}, 4, 2}, {{1, 1, 1, 0}, 5, 3},
    };
    uint8_t *program = malloc(length);
    uint32_t state = 89;
    for (size_t i = 0; i < length; i++) {
        state = state * 1664525 + 1013904223;
        program[i] = state >> 24 < 3 ? 3 : (i / 3 + i / 11) % 3;
    }
    struct machine *m = calloc(1, sizeof *m);
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++)
        sum = sum * 31 + run(m, functions, program, length);
    printf("%016llx, %llu calls, %llu lists\n", (unsigned long long)sum, (unsigned long long)m->calls, (unsigned long long)m->lists);
    free(m);
    free(program);
    return 0;
}
