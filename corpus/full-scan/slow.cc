// Yearly closing of a depot: every position is read whole, one after the other.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Position {
    uint64_t pieces;
    uint64_t bought_at[6];
    uint64_t year;
    uint64_t dividends[4];
    uint64_t currency;
    uint64_t fees[3];
    uint64_t depot;
};

static uint64_t close(const std::vector<Position> &positions)
{
    uint64_t sum = 0;
    for (const Position &p : positions) {
        uint64_t value = 0;
        for (uint64_t price : p.bought_at)
            value += price * p.pieces;
        for (uint64_t dividend : p.dividends)
            value += dividend ^ p.year;
        for (uint64_t fee : p.fees)
            value -= fee >> (p.currency & 3);
        sum = sum * 31 + value + p.depot;
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<Position> positions(count);
    uint32_t state = 31;
    for (Position &p : positions) {
        auto next = [&] { return (state = state * 1664525 + 1013904223) >> 12; };
        p.pieces = next();
        p.year = next();
        p.currency = next();
        p.depot = next();
        for (uint64_t &price : p.bought_at)
            price = next();
        for (uint64_t &dividend : p.dividends)
            dividend = next();
        for (uint64_t &fee : p.fees)
            fee = next();
    }
    uint64_t sum = 0;
    for (int i = 0; i < passes; i++) {
        positions[size_t(i) % count].pieces++;
        sum = sum * 7 + close(positions);
    }
    std::printf("%016llx\n", (unsigned long long)sum);
}
