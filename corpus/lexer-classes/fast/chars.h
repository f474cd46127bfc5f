/* Character classes of the language. */
#ifndef CHARS_H
#define CHARS_H
#include <stdbool.h>

extern const unsigned char char_class[256];
enum { LETTER = 1, DIGIT = 2, BLANK = 4 };

static inline bool is_letter(char c)
{
    return char_class[(unsigned char)c] & LETTER;
}

static inline bool is_word(char c)
{
    return char_class[(unsigned char)c] & (LETTER | DIGIT);
}

static inline bool is_digit(char c)
{
    return char_class[(unsigned char)c] & DIGIT;
}

static inline bool is_blank(char c)
{
    return char_class[(unsigned char)c] & BLANK;
}
#endif
