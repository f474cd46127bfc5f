// Joins orders with their customers through a hash table of wide rows.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Row {
    uint32_t key = 0;
    uint32_t credit = 0;
    char name[56];
};

class Table {
public:
    explicit Table(unsigned bits) : shift_(32 - bits), slots_(size_t(1) << bits) {}

    void insert(uint32_t key, uint32_t credit)
    {
        size_t at = slot(key);
        while (slots_[at].key)
            at = (at + 1) & (slots_.size() - 1);
        slots_[at].key = key;
        slots_[at].credit = credit;
    }

    // What the orders of known customers come to.
    uint64_t probe(const std::vector<uint32_t> &orders) const
    {
        uint64_t sum = 0;
        for (uint32_t key : orders) {
            size_t at = slot(key);
            while (slots_[at].key != key && slots_[at].key)
                at = (at + 1) & (slots_.size() - 1);
            sum += slots_[at].credit;
        }
        return sum;
    }

private:
    size_t slot(uint32_t key) const { return key * 2654435769u >> shift_; }

    unsigned shift_;
    std::vector<Row> slots_;
};

int main(int argc, char **argv)
{
    unsigned bits = argc > 1 ? unsigned(std::atoi(argv[1])) : 16;
    int batches = argc > 2 ? std::atoi(argv[2]) : 10;
    Table table(bits);
    uint32_t customers = 1u << (bits - 2);
    for (uint32_t i = 1; i <= customers; i++)
        table.insert(i * 40503 + 7, i & 1023);
    std::vector<uint32_t> orders(100000);
    uint32_t state = 3;
    uint64_t sum = 0;
    for (int b = 0; b < batches; b++) {
        for (uint32_t &order : orders) {
            state = state * 1664525 + 1013904223;
            order = (1 + (state >> 4) % customers) * 40503 + 7;
        }
        sum = sum * 31 + table.probe(orders);
    }
    std::printf("%016llx\n", (unsigned long long)sum);
}
