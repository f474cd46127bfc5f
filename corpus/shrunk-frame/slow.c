/* Checks the bars of a bill of exchange: a rolling remainder with an error that hardly occurs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct scanner {
    const char *names[4];
    char message[64];
    uint64_t errors;
};

static __attribute__((noinline)) uint32_t roll(struct scanner *s, uint32_t sum, uint32_t digit)
{
    if (__builtin_expect(digit > 99, 0)) {
        char text[48];
        int length = snprintf(text, sizeof text, "%s %u after %u", s->names[digit & 3], digit, sum);
        for (int i = 0; i < length; i++)
            s->message[i] = text[i];
        s->errors++;
        return sum;
    }
    return (sum * 100 + digit) % 97;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    uint8_t *digits = malloc(count);
    uint32_t state = 19;
    for (size_t i = 0; i < count; i++)
        digits[i] = (uint8_t)((uint64_t)(state = state * 1664525 + 1013904223) * 100 >> 32);
    digits[count / 2] = 120;
    struct scanner s = {{"bad pair", "pair", "digit", "bar"}, "", 0};
    uint32_t sum = 0;
    for (int p = 0; p < passes; p++)
        for (size_t i = 0; i < count; i++)
            sum = roll(&s, sum, digits[i]);
    printf("%u, %llu errors, %s\n", sum, (unsigned long long)s.errors, s.message);
    free(digits);
    return 0;
}
