// Routes keys to shards by hash modulo the number of shards (known when the
// configuration is read) and keeps each shard's load.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Shard {
    uint32_t keys = 0;
    uint32_t bytes = 0;
};

class Router {
public:
    explicit Router(size_t shards) : shards_(shards)
    {
        if (shards & (shards - 1))
            std::abort(); // a power of two, so that a mask does
    }

    void route(const std::vector<uint64_t> &keys)
    {
        const size_t mask = shards_.size() - 1;
        for (uint64_t key : keys) {
            Shard &shard = shards_[mix(key) & mask];
            shard.keys++;
            shard.bytes += 16 + (key & 63);
        }
    }

    uint64_t digest() const
    {
        uint64_t sum = 0;
        for (const Shard &shard : shards_)
            sum = sum * 1000003 + shard.keys * 31 + shard.bytes;
        return sum;
    }

private:
    static uint64_t mix(uint64_t h)
    {
        h ^= h >> 31;
        h *= 0x9e3779b97f4a7c15;
        return h ^ h >> 29;
    }

    std::vector<Shard> shards_;
};

int main(int argc, char **argv)
{
    size_t shards = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
    int batches = argc > 2 ? std::atoi(argv[2]) : 100;
    Router router(shards);
    std::vector<uint64_t> keys(50000);
    uint64_t state = 1;
    for (int b = 0; b < batches; b++) {
        for (uint64_t &key : keys)
            key = state += 0x632be59bd9b4e019;
        router.route(keys);
    }
    std::printf("%016llx\n", (unsigned long long)router.digest());
}
