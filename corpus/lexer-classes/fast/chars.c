#include "chars.h"

const unsigned char char_class[256] = {
    ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER,
    ['0' ... '9'] = DIGIT, [' '] = BLANK, ['\t'] = BLANK, ['\n'] = BLANK,
};
