// Smooths an image again and again with a 3x3 binomial kernel.
#include <cstdio>
#include <cstdlib>
#include "image.h"

static int smoothed(const Image &in, int x, int y)
{
    return (in.at(x - 1, y - 1) + 2 * in.at(x, y - 1) + in.at(x + 1, y - 1) +
            2 * in.at(x - 1, y) + 4 * in.at(x, y) + 2 * in.at(x + 1, y) +
            in.at(x - 1, y + 1) + 2 * in.at(x, y + 1) + in.at(x + 1, y + 1) + 8) >> 4;
}

static void smooth(const Image &in, Image &out)
{
    for (int y = 1; y < in.height() - 1; y++)
        for (int x = 1; x < in.width() - 1; x++)
            out.set(x, y, smoothed(in, x, y));
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? std::atoi(argv[1]) : 256;
    int passes = argc > 2 ? std::atoi(argv[2]) : 100;
    Image a(size, size), b(size, size);
    unsigned state = 1;
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            state = state * 1103515245 + 12345;
            a.set(x, y, (state >> 16 & 255) * (x ^ y) >> 8);
        }
    for (int i = 0; i < passes; i++) {
        smooth(a, b);
        smooth(b, a);
    }
    unsigned long sum = 0;
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++)
            sum = sum * 131 + a.at(x, y);
    std::printf("%016lx\n", sum);
}
