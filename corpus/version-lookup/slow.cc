// Finds for each moment the version of a document that was valid then: a binary search
// without branches in a small sorted table.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

class Versions {
public:
    explicit Versions(size_t n)
    {
        uint32_t at = 0, state = 7;
        for (size_t i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            at += 1 + (state >> 24);
            since_.push_back(at);
        }
    }

    // Number of the last version that is not younger than the moment.
    size_t valid_at(uint32_t moment) const
    {
        const uint32_t *base = since_.data();
        for (size_t size = since_.size(); size > 1;) {
            size_t half = size / 2;
            base += (base[half] <= moment) * half;
            size -= half;
        }
        return size_t(base - since_.data());
    }

    uint32_t last() const { return since_.back(); }

private:
    std::vector<uint32_t> since_;
};

int main(int argc, char **argv)
{
    Versions versions(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024);
    int queries = argc > 2 ? std::atoi(argv[2]) : 100000;
    uint32_t state = 1, mask = 0;
    while (mask < versions.last() / 2)
        mask = mask << 1 | 1;
    uint64_t digest = 0;
    for (int q = 0; q < queries; q++) {
        state = state * 1664525 + 1013904223;
        digest += versions.valid_at(state >> 9 & mask) ^ size_t(q);
    }
    std::printf("%llu\n", (unsigned long long)digest);
}
