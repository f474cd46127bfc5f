// Books a warehouse's deliveries and sales by article number; weighted average costs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

// Open addressing, keys kept as strings; never removes.
template <typename Value>
class Table {
public:
    explicit Table(size_t slots) : slots_(slots) {}

    bool contains(std::string_view key) const { return slots_[locate(key)].used; }

    Value &at(std::string_view key) { return slots_[locate(key)].value; }

    void insert(std::string_view key, Value value)
    {
        Slot &slot = slots_[locate(key)];
        slot.key = key;
        slot.value = value;
        slot.used = true;
    }

    template <typename Each>
    void each(Each &&visit) const
    {
        for (const Slot &slot : slots_)
            if (slot.used)
                visit(slot.key, slot.value);
    }

private:
    struct Slot {
        std::string key;
        Value value{};
        bool used = false;
    };

    size_t locate(std::string_view key) const
    {
        uint32_t h = 2166136261u;
        for (unsigned char c : key)
            h = (h ^ c) * 16777619u;
        size_t at = (h ^ h >> 15) & (slots_.size() - 1);
        while (slots_[at].used && slots_[at].key != key)
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    std::vector<Slot> slots_;
};

struct Article {
    int64_t units = 0, value = 0, sold = 0, margin = 0;
};

struct Line {
    std::string text; // "D;AB-10233;40;1299": delivered or sold, article, units, price in cents
};

class Stock {
public:
    Stock() : articles_(4096) {}

    void book(std::string_view line)
    {
        char what = line[0];
        size_t name = 2, end = line.find(';', name);
        std::string_view number = line.substr(name, end - name);
        size_t at = end + 1;
        int64_t units = integer(line, at);
        int64_t price = integer(line, ++at);
        if (!articles_.contains(number))
            articles_.insert(number, Article{});
        if (what == 'D') {
            articles_.at(number).units += units;
            articles_.at(number).value += units * price;
        } else if (articles_.at(number).units >= units) {
            Article &article = articles_.at(number);
            int64_t cost = article.value * units / article.units;
            article.units -= units;
            article.value -= cost;
            article.sold += units;
            article.margin += units * price - cost;
        } else {
            missed++;
        }
    }

    uint64_t digest() const
    {
        uint64_t sum = missed;
        articles_.each([&](const std::string &key, const Article &a) {
            sum = sum * 31 + key.size() + uint64_t(a.units + 3 * a.value + 5 * a.sold + 7 * a.margin);
        });
        return sum;
    }

    uint64_t missed = 0;

private:
    static int64_t integer(std::string_view line, size_t &at)
    {
        int64_t value = 0;
        while (at < line.size() && line[at] != ';')
            value = value * 10 + (line[at++] - '0');
        return value;
    }

    Table<Article> articles_;
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 10000;
    int days = argc > 2 ? atoi(argv[2]) : 10;
    std::vector<Line> lines(count);
    uint32_t state = 17;
    for (auto &line : lines) {
        state = state * 1664525 + 1013904223;
        uint32_t article = (state >> 8) % 1500;
        char text[64];
        snprintf(text, sizeof text, "%c;%c%c-%05u;%u;%u", state >> 30 ? 'S' : 'D', 'A' + article % 7, 'K' + article % 5,
                 article * 61, 1 + (state >> 12) % (state >> 30 ? 25 : 90), 99 + article * 13 % 9000 + (state >> 20) % 50);
        line.text = text;
    }
    Stock stock;
    for (int d = 0; d < days; d++)
        for (const auto &line : lines)
            stock.book(line.text);
    printf("%llu missed, %016llx\n", (unsigned long long)stock.missed, (unsigned long long)stock.digest());
}
