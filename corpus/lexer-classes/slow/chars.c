#include "chars.h"

const unsigned char char_class[256] = {
    ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER,
    ['0' ... '9'] = DIGIT, [' '] = BLANK, ['\t'] = BLANK, ['\n'] = BLANK,
};

bool is_letter(char c)
{
    return char_class[(unsigned char)c] & LETTER;
}

bool is_word(char c)
{
    return char_class[(unsigned char)c] & (LETTER | DIGIT);
}

bool is_digit(char c)
{
    return char_class[(unsigned char)c] & DIGIT;
}

bool is_blank(char c)
{
    return char_class[(unsigned char)c] & BLANK;
}
