/* Character classes of the language. */
#ifndef CHARS_H
#define CHARS_H
#include <stdbool.h>

extern const unsigned char char_class[256];
enum { LETTER = 1, DIGIT = 2, BLANK = 4 };

bool is_letter(char c);
bool is_word(char c);
bool is_digit(char c);
bool is_blank(char c);
#endif
