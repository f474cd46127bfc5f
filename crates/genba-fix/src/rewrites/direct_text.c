#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Digits of a number, at least `least`, in front of which `pad` fills up to `width`. */
static inline __attribute__((unused)) char *direct_number(char *to, unsigned long long number, int negative, int width, char pad)
{
    static const char pairs[201] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051"
        "525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    char digits[24];
    char *at = digits + sizeof digits;
    while (number >= 100) {
        at -= 2;
        memcpy(at, pairs + number % 100 * 2, 2);
        number /= 100;
    }
    if (number >= 10) {
        at -= 2;
        memcpy(at, pairs + number * 2, 2);
    } else {
        *--at = (char)('0' + number);
    }
    int length = (int)(digits + sizeof digits - at);
    if (negative && pad == '0')
        *to++ = '-';
    for (int all = length + (negative != 0); all < width; all++)
        *to++ = pad;
    if (negative && pad != '0')
        *to++ = '-';
    memcpy(to, at, (size_t)length);
    return to + length;
}

static inline __attribute__((unused)) char *direct_hexadecimal(char *to, unsigned long long number, int width, char pad, const char *letters)
{
    int length = 1;
    for (unsigned long long rest = number >> 4; rest; rest >>= 4)
        length++;
    for (int all = length; all < width; all++)
        *to++ = pad;
    for (int at = length - 1; at >= 0; at--)
        *to++ = letters[number >> (at * 4) & 15];
    return to;
}

/* A number with so many places, rounded as printf does: half to even of the exact value. NULL: it is too large. */
static inline __attribute__((unused)) char *direct_places(char *to, double value, int places)
{
    static const unsigned powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    const double size = __builtin_fabs(value);
    if (!(size < 1e9))
        return NULL;
    unsigned long long whole = (unsigned long long)size, scaled = 0, bits;
    const double part = size - (double)whole;
    memcpy(&bits, &part, sizeof bits);
    /* part = mantissa / 2^down exactly, and below 2^-60 it adds nothing. */
    const int down = 1075 - (int)(bits >> 52);
    if (down < 113) {
        const unsigned __int128 product = (unsigned __int128)((bits & 0xfffffffffffffull) | 1ull << 52) * powers[places];
        const unsigned __int128 one = (unsigned __int128)1 << down, rest = product & (one - 1);
        scaled = (unsigned long long)(product >> down);
        if (rest > one / 2 || (rest == one / 2 && (places ? scaled : whole) & 1))
            scaled++;
        if (scaled >= powers[places])
            scaled -= powers[places], whole++;
    }
    to = direct_number(to, whole, __builtin_signbit(value), 0, ' ');
    if (places) {
        *to++ = '.';
        to = direct_number(to, scaled, 0, places, '0');
    }
    return to;
}

