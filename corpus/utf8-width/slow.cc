// Lays out text for a terminal: the columns that each line takes, wide letters two, marks none.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

struct Range {
    uint32_t first, last;
    int width;
};

static const Range ranges[] = {
    {0x0300, 0x036f, 0},  {0x0483, 0x0489, 0},  {0x0591, 0x05bd, 0},  {0x0610, 0x061a, 0},  {0x064b, 0x065f, 0},
    {0x0900, 0x0902, 0},  {0x1100, 0x115f, 2},  {0x200b, 0x200f, 0},  {0x2e80, 0x303e, 2},  {0x3041, 0x33ff, 2},
    {0x3400, 0x4dbf, 2},  {0x4e00, 0x9fff, 2},  {0xa000, 0xa4cf, 2},  {0xac00, 0xd7a3, 2},  {0xf900, 0xfaff, 2},
    {0xfe00, 0xfe0f, 0},  {0xfe30, 0xfe6f, 2},  {0xff00, 0xff60, 2},  {0x1f300, 0x1f64f, 2}, {0x20000, 0x3fffd, 2},
};

static int width_of(uint32_t letter)
{
    size_t low = 0, high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (letter > ranges[middle].last)
            low = middle + 1;
        else if (letter < ranges[middle].first)
            high = middle;
        else
            return ranges[middle].width;
    }
    return letter < 32 ? 0 : 1;
}

// Decodes the letter at `at` and moves on; a malformed byte stands for itself.
static uint32_t decode(const unsigned char *&at, const unsigned char *end)
{
    uint32_t lead = *at++;
    int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    uint32_t letter = lead & (0xffu >> (more + (more > 0)));
    for (; more > 0 && at < end && (*at & 0xc0) == 0x80; more--)
        letter = letter << 6 | (*at++ & 0x3f);
    return more ? lead : letter;
}

static uint64_t layout(const std::string &text, int columns)
{
    auto at = reinterpret_cast<const unsigned char *>(text.data()), end = at + text.size();
    uint64_t lines = 0;
    int used = 0;
    while (at < end) {
        uint32_t letter = decode(at, end);
        int width = width_of(letter);
        if (letter == '\n' || used + width > columns) {
            lines++;
            used = 0;
        }
        used += width;
    }
    return lines;
}

int main(int argc, char **argv)
{
    size_t words = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    static const char *samples[] = {"measurement", "of", "the", "northern", "station", "is", "late", "again,", "not"};
    std::string text;
    uint32_t state = 83;
    for (size_t i = 0; i < words; i++) {
        state = state * 1664525 + 1013904223;
        text += state >> 24 == 0 ? "\u6771\u4eac" : state >> 24 == 1 ? "Zu\u0308rich" : samples[(state >> 16) % 9];
        text += state >> 28 == 3 ? '\n' : ' ';
    }
    uint64_t lines = 0;
    for (int p = 0; p < passes; p++)
        lines = lines * 7 + layout(text, 60 + p % 40);
    std::printf("%llu\n", (unsigned long long)lines);
}
