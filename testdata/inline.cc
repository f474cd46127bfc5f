// C++ names and inlined frames: a template, an operator, a lambda and a
// function inlined into a function inlined into `total`.
// Built with -g -O2.   inline [rounds=800]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace shop {

struct price {
    double amount;
    bool operator<(const price &other) const { return amount < other.amount; }
};

// Inlined into discounted, which is inlined into total: two inlined frames.
static inline double taxed(double amount) { return amount / 1.19 + amount * 0.07; }
static inline double discounted(const price &p) { return taxed(p.amount) / (1.0 + p.amount); }

template <typename Item>
__attribute__((noinline)) double total(const std::vector<Item> &items)
{
    double sum = 0;
    for (const Item &item : items)
        sum += discounted(item);
    return sum;
}

template <typename Item, typename Order>
__attribute__((noinline)) void arrange(std::vector<Item> &items, Order order)
{
    std::sort(items.begin(), items.end(), order);
}

} // namespace shop

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 800;
    double sum = 0;
    std::vector<shop::price> prices(20000);
    uint64_t state = 1;
    for (int i = 0; i < rounds; i++) {
        for (auto &p : prices) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            p.amount = double(state >> 40);
        }
        shop::arrange(prices, [](const shop::price &a, const shop::price &b) { return b < a; });
        sum += shop::total(prices);
    }
    std::printf("%f\n", sum);
    return 0;
}
