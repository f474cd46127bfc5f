// Prices orders from a parts catalogue that is kept in an open hash table.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

template <class Key, class Value> class Table {
public:
    explicit Table(size_t capacity) : slots(capacity), mask(capacity - 1) {}

    Value &operator[](const Key &key)
    {
        Slot &slot = slots[locate(key)];
        if (!slot.used) {
            slot.used = true;
            slot.key = key;
            slot.fingerprint = static_cast<uint32_t>(mix(key) >> 32);
        }
        return slot.value;
    }

    const Value *find(const Key &key) const
    {
        const Slot &slot = slots[locate(key)];
        return slot.used ? &slot.value : nullptr;
    }

private:
    struct Slot {
        Key key{};
        Value value{};
        uint32_t fingerprint = 0;
        bool used = false;
    };

    size_t locate(const Key &key) const
    {
        uint64_t h = mix(key);
        uint32_t fingerprint = static_cast<uint32_t>(h >> 32);
        size_t at = h & mask;
        while (slots[at].used && (slots[at].fingerprint != fingerprint || slots[at].key != key))
            at = (at + 1) & mask;
        return at;
    }

    std::vector<Slot> slots;
    size_t mask;
};

struct Part {
    char description[80] = {};
    int64_t price = 0;
    char supplier[48] = {};
    uint32_t drawings[12] = {};
    uint32_t stock = 0;
    char shelf[24] = {}, customs_code[16] = {}, maker[40] = {};
    uint32_t replaced_by = 0, weight = 0;
    char note[44] = {};
};

struct Order {
    uint64_t part;
    uint32_t quantity;
};

class Stream {
public:
    explicit Stream(uint64_t seed) : state(seed) {}

    uint64_t next()
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 20;
    }

private:
    uint64_t state;
};

struct Bill {
    int64_t total = 0;
    uint64_t grams = 0, missing = 0, short_of = 0;
};

void price(Bill &bill, const Table<uint64_t, Part> &parts, const Order &order)
{
    const Part *part = parts.find(order.part);
    if (!part) {
        bill.missing++;
        return;
    }
    int64_t sum = part->price * order.quantity;
    if (order.quantity >= 10)
        sum -= sum / 20;
    bill.total += sum;
    bill.grams += static_cast<uint64_t>(part->weight) * order.quantity;
    bill.short_of += part->stock < order.quantity;
}

}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000;
    int batches = argc > 2 ? std::atoi(argv[2]) : 10;
    size_t capacity = 1024;
    while (capacity < count * 2)
        capacity *= 2;
    Table<uint64_t, Part> parts(capacity);
    for (uint64_t i = 0; i < count; i++) {
        Part &part = parts[i * 37 + 11];
        part.price = 100 + static_cast<int64_t>(i % 9000);
        part.stock = static_cast<uint32_t>(i % 50);
        part.weight = static_cast<uint32_t>(i % 700);
        std::snprintf(part.supplier, sizeof part.supplier, "Supplier %u", static_cast<unsigned>(i % 90));
    }
    Stream stream(99);
    std::vector<Order> orders(1 << 18);
    Bill bill;
    for (Order &order : orders) {
        uint64_t r = stream.next();
        order = {r % count * 37 + (r % 113 ? 11 : 12), static_cast<uint32_t>(1 + r / 64 % 20)};
    }
    for (int b = 0; b < batches; b++)
        for (const Order &order : orders)
            price(bill, parts, order);
    std::printf("%lld, %llu g, %llu missing, %llu short\n", static_cast<long long>(bill.total), static_cast<unsigned long long>(bill.grams),
                static_cast<unsigned long long>(bill.missing), static_cast<unsigned long long>(bill.short_of));
}
