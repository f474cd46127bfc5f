// Matches trades with the open orders of an exchange, found by number.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Order {
    uint32_t price;
    char account[48];
    char reference[40];
    uint32_t open;      // quantity that is not traded yet
    uint64_t entered[6];
    char comment[64];
    uint32_t trades;
    uint32_t flags;
    uint64_t turnover;
};

struct Trade {
    uint32_t order, price, quantity;
};

static uint64_t match(std::vector<Order> &orders, const std::vector<Trade> &trades)
{
    uint64_t turnover = 0;
    for (const Trade &trade : trades) {
        Order &order = orders[trade.order];
        if (trade.price < order.price || order.open == 0)
            continue;
        uint32_t quantity = trade.quantity < order.open ? trade.quantity : order.open;
        order.open -= quantity;
        order.trades++;
        order.turnover += uint64_t(quantity) * trade.price;
        turnover += order.turnover;
    }
    return turnover;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<Order> orders(count);
    uint32_t state = 109;
    for (size_t i = 0; i < count; i++) {
        orders[i].price = 900 + uint32_t(i * 7 % 200);
        orders[i].open = 2000000;
    }
    std::vector<Trade> trades(20000);
    uint64_t turnover = 0;
    for (Trade &trade : trades) {
        state = state * 1664525 + 1013904223;
        trade = {uint32_t(uint64_t(state) * count >> 32), 1090 + (state >> 4) % 90, 1 + (state >> 9) % 50};
    }
    for (int r = 0; r < rounds; r++) {
        orders[size_t(r) % count].price++;
        turnover += match(orders, trades);
    }
    std::printf("%llu\n", (unsigned long long)turnover);
}
