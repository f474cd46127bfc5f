/* Searches a file for each of some words, so many times: search FILE TIMES WORD... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oniguruma.h"

int main(int count, char **words)
{
    FILE *file = fopen(words[1], "rb");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    UChar *text = malloc(size);
    if (fread(text, 1, size, file) != (size_t)size)
        return 1;
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    long found = 0;
    for (int i = 3; i < count; i++) {
        regex_t *pattern;
        OnigErrorInfo error;
        const UChar *word = (const UChar *)words[i];
        if (onig_new(&pattern, word, word + strlen(words[i]), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                     ONIG_SYNTAX_DEFAULT, &error))
            return 1;
        OnigRegion *region = onig_region_new();
        for (int time = 0; time < atoi(words[2]); time++) {
            UChar *from = text;
            while (from < text + size
                   && onig_search(pattern, text, text + size, from, text + size, region, ONIG_OPTION_NONE) >= 0) {
                found++;
                from = text + region->end[0] + 1;
            }
        }
    }
    printf("%ld\n", found);
    return 0;
}
