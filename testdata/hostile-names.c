/* Symbol names that attack what shows them: HTML, a terminal (escape
 * sequences: red text, a new window title, a cleared screen), CSV and a
 * spreadsheet. An assembler takes any name in quotes, so a hostile binary
 * needs no special tool. The five spend a fifth of the time each.
 * Built with -g -O2.   hostile-names [millions=60] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* C knows them by tame names; the symbol table has the hostile ones. */
#define NAMED(name) __asm__("\"" name "\"")
uint64_t in_html(uint64_t) NAMED("<script>alert(1)</script>");
uint64_t in_attribute(uint64_t) NAMED("x' onmouseover='alert(2)");
uint64_t in_terminal(uint64_t) NAMED("\x1b[31mred\x1b]0;owned\x07\x1b[2J");
uint64_t in_csv(uint64_t) NAMED("=cmd|'/c calc'!A1,1;2");
/* A right-to-left override, and bytes that are no UTF-8. */
uint64_t in_text(uint64_t) NAMED("right\xe2\x80\xaeleft\xff\xfe");

#define SPEND(name, seed)                                                      \
    __attribute__((noinline, used)) uint64_t name(uint64_t rounds)             \
    {                                                                          \
        uint64_t x = seed;                                                     \
        for (uint64_t i = 0; i < rounds; i++)                                  \
            x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;                       \
        return x;                                                              \
    }

SPEND(in_html, 1)
SPEND(in_attribute, 2)
SPEND(in_terminal, 3)
SPEND(in_csv, 4)
SPEND(in_text, 5)

int main(int argc, char **argv)
{
    uint64_t rounds = (argc > 1 ? strtoull(argv[1], NULL, 10) : 60) * 1000000;
    uint64_t sum = in_html(rounds) + in_attribute(rounds) + in_terminal(rounds) +
                   in_csv(rounds) + in_text(rounds);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
