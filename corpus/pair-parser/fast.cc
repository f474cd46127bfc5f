// Loads "key value" pairs from text into a table of records and sums them up by key.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Pair {
    uint32_t key;
    uint32_t value;
};

class Loader {
public:
    void load(const std::string &text)
    {
        const char *at = text.data(), *end = at + text.size();
        pairs_.clear();
        while (at < end) {
            uint32_t key, value;
            at = std::from_chars(at, end, key).ptr + 1;
            at = std::from_chars(at, end, value).ptr + 1;
            Pair &pair = pairs_.emplace_back();
            pair.key = key;
            pair.value = value;
        }
    }

    const std::vector<Pair> &pairs() const { return pairs_; }

private:
    std::vector<Pair> pairs_;
};

int main(int argc, char **argv)
{
    size_t lines = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 100;
    std::string text;
    for (size_t i = 0; i < lines; i++)
        text += std::to_string(i * 7 % 90 + 10) + "=" + std::to_string(i % 8 + 1) + "\n";
    Loader loader;
    std::vector<uint64_t> sums(128);
    for (int p = 0; p < passes; p++) {
        loader.load(text);
        for (const Pair &pair : loader.pairs())
            sums[pair.key & 127] += pair.value;
    }
    uint64_t digest = 0;
    for (uint64_t sum : sums)
        digest = digest * 31 + sum;
    std::printf("%016llx\n", (unsigned long long)digest);
}
