/* Counts the matches of a pattern in a file, so many times: FILE PATTERN TIMES. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    FILE *in = argc > 3 ? fopen(argv[1], "rb") : NULL;
    if (!in)
        return 2;
    fseek(in, 0, SEEK_END);
    size_t size = ftell(in);
    rewind(in);
    unsigned char *text = malloc(size + 1);
    if (fread(text, 1, size, in) != size)
        return 2;
    int error;
    size_t at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)argv[2], PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
    if (!code)
        return 2;
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    long found = 0;
    for (int times = atoi(argv[3]); times > 0; times--)
        for (at = 0; pcre2_match(code, text, size, at, PCRE2_NO_UTF_CHECK, match, NULL) > 0; found++)
            at = pcre2_get_ovector_pointer(match)[1];
    printf("%ld\n", found);
    return 0;
}
