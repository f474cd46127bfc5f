#include "slug.h"

#include <string.h>

static const char *const LATIN[64] = {
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",
    "d", "n", "o", "o", "o", "o", "o", "x", "o", "u", "u", "u", "u", "y", "th", "ss",
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",
    "d", "n", "o", "o", "o", "o", "o", "-", "o", "u", "u", "u", "u", "y", "th", "y",
};

size_t simplify(char *out, const char *title)
{
    size_t n = 0, length = strlen(title);
    for (size_t i = 0; i < length && n < LONGEST - 12; i++) {
        unsigned char c = (unsigned char)title[i];
        if (c >= 'A' && c <= 'Z')
            out[n++] = (char)(c + 32);
        else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            out[n++] = (char)c;
        else if (c == 0xc3) {
            for (const char *plain = LATIN[title[++i] & 63]; *plain; plain++)
                out[n++] = *plain;
        } else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    out[n] = 0;
    return n;
}
