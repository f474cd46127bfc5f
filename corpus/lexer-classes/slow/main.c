/* Lexes a generated program, counting and hashing its tokens. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chars.h"

struct counts {
    unsigned long words, numbers, signs;
    uint64_t lengths;
};

static void lex(const char *text, struct counts *counts)
{
    const char *at = text;
    while (*at) {
        const char *start = at;
        if (is_blank(*at)) {
            do
                at++;
            while (is_blank(*at));
            continue;
        }
        if (is_letter(*at)) {
            while (is_word(*at))
                at++;
            counts->words++;
        } else if (is_digit(*at)) {
            while (is_digit(*at))
                at++;
            counts->numbers++;
        } else {
            at++;
            counts->signs++;
        }
        counts->lengths = counts->lengths * 3 + (uint64_t)(at - start);
    }
}

static char *make_source(size_t statements)
{
    static const char *const lines[] = {
        "counter_of_things = previous_total + 1048576;\n",
        "if (remaining_elements < threshold_value) {\n    return\tdefault_configuration;\n}\n",
        "accumulate_statistics(&measurement_window, 3600, initial_offset);\n",
        "temperature[index_in_table] = 27315 * calibration_factor;\n",
    };
    char *source = malloc(statements * 96 + 1), *at = source;
    for (size_t i = 0; i < statements; i++) {
        const char *line = lines[(i * 7 + i / 5) % 4];
        size_t length = strlen(line);
        memcpy(at, line, length);
        at += length;
    }
    *at = 0;
    return source;
}

int main(int argc, char **argv)
{
    char *source = make_source(argc > 1 ? strtoul(argv[1], 0, 10) : 1000);
    int passes = argc > 2 ? atoi(argv[2]) : 100;
    struct counts counts = {0};
    for (int i = 0; i < passes; i++)
        lex(source, &counts);
    printf("%lu words, %lu numbers, %lu signs, %016llx\n", counts.words, counts.numbers,
           counts.signs, (unsigned long long)counts.lengths);
    free(source);
    return 0;
}
