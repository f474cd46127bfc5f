// Monthly report over customers: how many are active in each region, what they owe.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Customer {
    uint32_t id;
    char name[64];
    char street[64];
    char city[48];
    uint8_t region;
    uint8_t active;
    int32_t balance;
    uint64_t last_seen;
};

class Customers {
public:
    explicit Customers(size_t n) : all_(n)
    {
        uint32_t state = 4;
        for (size_t i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            Customer &c = all_[i];
            c.id = uint32_t(i);
            std::snprintf(c.name, sizeof c.name, "Customer %zu", i);
            c.region = uint8_t(state >> 24 & 7);
            c.balance = int32_t(state >> 8 & 0xffff) - 30000;
            c.last_seen = state;
        }
    }

    // What the customers of one region owe altogether.
    int64_t owed(uint8_t region) const
    {
        int64_t sum = 0;
        for (const Customer &c : all_)
            sum += c.region == region ? c.balance : 0;
        return sum;
    }

    void touch(size_t i, int32_t amount) { all_[i % all_.size()].balance += amount; }

private:
    std::vector<Customer> all_;
};

int main(int argc, char **argv)
{
    Customers customers(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000);
    int months = argc > 2 ? std::atoi(argv[2]) : 10;
    uint64_t digest = 0;
    for (int m = 0; m < months; m++) {
        for (uint8_t region = 0; region < 8; region++)
            digest = digest * 31 + uint64_t(customers.owed(region));
        customers.touch(size_t(m) * 7919, m);
    }
    std::printf("%016llx\n", (unsigned long long)digest);
}
