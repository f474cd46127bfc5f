#ifndef SLUG_H
#define SLUG_H

#include <stddef.h>

#define LONGEST 160

/* Letters and digits in lower case, all else as single dashes; returns the length. */
size_t simplify(char *out, const char *title);

#endif
