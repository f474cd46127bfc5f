/* An assembler's symbol look-up: short mnemonics in a small hash table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {
    "add", "adc", "and", "bsf", "bt", "call", "cmp", "dec", "div", "hlt", "imul", "inc",
    "jmp", "jz", "jnz", "lea", "mov", "movsx", "movzx", "mul", "neg", "nop", "not", "or",
    "pop", "push", "ret", "rol", "ror", "sar", "shl", "shr", "sub", "test", "xchg", "xor",
};
enum { NAMES = sizeof names / sizeof *names, SLOTS = 128 };

static uint8_t slots[SLOTS];    /* 1 + number of the name */

static inline uint32_t hash(const char *text, const char **end)
{
    uint32_t h = 0;
    while (*text > ' ')
        h = h * 5 + (unsigned char)*text++;
    *end = text;
    return (h ^ h >> 7) % SLOTS;
}

static void insert(unsigned number)
{
    const char *end;
    uint32_t at = hash(names[number], &end);
    while (slots[at])
        at = (at + 1) % SLOTS;
    slots[at] = (uint8_t)(number + 1);
}

/* Number of the mnemonic at the text, or -1; *text is moved behind it. */
static int look_up(const char **text)
{
    const char *start = *text;
    for (uint32_t at = hash(start, text); slots[at]; at = (at + 1) % SLOTS) {
        const char *name = names[slots[at] - 1], *word = start;
        while (*name && *name == *word) {
            name++;
            word++;
        }
        if (!*name && word == *text)
            return slots[at] - 1;
    }
    return -1;
}

int main(int argc, char **argv)
{
    int passes = argc > 1 ? atoi(argv[1]) : 1000;
    char program[2048], *at = program;
    uint32_t state = 1;
    while (at < program + sizeof program - 8) {
        state = state * 1664525 + 1013904223;
        at += sprintf(at, "%s ", names[(state >> 24) * NAMES >> 8]);
    }
    for (unsigned i = 0; i < NAMES; i++)
        insert(i);
    uint64_t digest = 0;
    for (int p = 0; p < passes; p++)
        for (const char *text = program; *text; text++)
            digest = digest * 31 + (unsigned)look_up(&text);
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
