// Reads a feed of quotes, symbol and price a line, and keeps open, high, low and mean.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Bar {
    double open = 0, high = 0, low = 1e300, sum = 0;
    uint64_t quotes = 0;
};

static double price(const char *text, const char **end)
{
    char *stop;
    double value = std::strtod(text, &stop);
    *end = stop;
    return value;
}

static void read_feed(const std::string &feed, std::vector<Bar> &bars)
{
    const char *at = feed.c_str();
    while (*at) {
        unsigned symbol = 0;
        for (; *at != ' '; at++)
            symbol = symbol * 26 + unsigned(*at - 'A');
        double value = price(at + 1, &at);
        Bar &bar = bars[symbol % bars.size()];
        if (bar.quotes++ == 0)
            bar.open = value;
        if (value > bar.high)
            bar.high = value;
        if (value < bar.low)
            bar.low = value;
        bar.sum += value;
        at++;
    }
}

int main(int argc, char **argv)
{
    size_t quotes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    std::string feed;
    uint32_t state = 73;
    char line[64];
    for (size_t i = 0; i < quotes; i++) {
        state = state * 1664525 + 1013904223;
        unsigned s = state >> 8;
        std::snprintf(line, sizeof line, "%c%c%c%c %u.%04u\n", 'A' + s % 26, 'A' + s / 26 % 26, 'A' + s / 676 % 26,
                      'A' + s / 17576 % 26, s % 1500, s / 7 % 10000);
        feed += line;
    }
    std::vector<Bar> bars(997);
    for (int p = 0; p < passes; p++)
        read_feed(feed, bars);
    double sum = 0;
    for (const Bar &bar : bars)
        if (bar.quotes)
            sum += bar.open + bar.high - bar.low + bar.sum / double(bar.quotes);
    std::printf("%.6f\n", sum);
}
