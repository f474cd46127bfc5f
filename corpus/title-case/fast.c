/* Normalises headings: first letters of words large, the rest small, blanks to dashes. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int slug(char *text)
{
    int words = 0, in_word = 0;
    for (size_t i = 0, n = strlen(text); i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (isalpha(c)) {
            text[i] = (char)(in_word ? tolower(c) : toupper(c));
            words += !in_word;
            in_word = 1;
        } else {
            text[i] = c == ' ' ? '-' : (char)c;
            in_word = 0;
        }
    }
    return words;
}

int main(int argc, char **argv)
{
    int headings = argc > 1 ? atoi(argv[1]) : 1000;
    static const char *const openings[] = {
        "ON THE origin OF species by means of natural selection, or the preservation of favoured races",
        "a treatise of human nature: being an attempt to introduce the experimental method of reasoning",
        "An Inquiry Into The Nature And Causes Of The Wealth Of Nations, in five books, with an index",
    };
    uint64_t digest = 0;
    char text[256];
    for (int i = 0; i < headings; i++) {
        snprintf(text, sizeof text, "%s, volume %d of the collected edition in many parts", openings[i % 3], i % 97);
        digest = digest * 31 + (unsigned)slug(text);
        digest = digest * 31 + (unsigned char)text[i % 90];
    }
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
