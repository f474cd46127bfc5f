// A small pipeline of five stages, none of which carries the time: parse, hash, sort,
// aggregate, format.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

class Pipeline {
public:
    explicit Pipeline(size_t n) : table_(1024)
    {
        for (size_t i = 0; i < n; i++)
            text_ += std::to_string(i * 37 % 400) + " " + std::to_string(i % 90 + 10) + "\n";
        keys_.reserve(n);
        values_.reserve(n);
        report_.reserve(1 << 16);
    }

    uint64_t run()
    {
        parse();
        aggregate();
        order();
        format();
        uint64_t digest = 0;
        for (size_t i = 0; i < report_.size(); i += 5)
            digest = digest * 31 + (unsigned char)report_[i];
        return digest;
    }

private:
    void parse()
    {
        keys_.clear();
        values_.clear();
        const char *at = text_.data(), *end = at + text_.size();
        while (at < end) {
            uint32_t key = 0, value = 0;
            at = std::from_chars(at, end, key).ptr + 1;
            at = std::from_chars(at, end, value).ptr + 1;
            keys_.push_back(key);
            values_.push_back(value);
        }
    }

    void aggregate()
    {
        std::fill(table_.begin(), table_.end(), 0);
        for (size_t i = 0; i < keys_.size(); i++)
            table_[(keys_[i] * 2654435761u) >> 22] += values_[i];
    }

    void order()
    {
        totals_.clear();
        for (uint32_t total : table_)
            if (total)
                totals_.push_back(total);
        std::sort(totals_.begin(), totals_.end());
    }

    void format()
    {
        report_.resize(totals_.size() * 12);
        char *at = report_.data();
        for (uint32_t total : totals_) {
            at = std::to_chars(at, at + 11, total).ptr;
            *at++ = ';';
        }
        report_.resize(size_t(at - report_.data()));
    }

    std::string text_;
    std::vector<char> report_;
    std::vector<uint32_t> keys_, values_, table_, totals_;
};

int main(int argc, char **argv)
{
    Pipeline pipeline(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000);
    int passes = argc > 2 ? std::atoi(argv[2]) : 100;
    uint64_t digest = 0;
    for (int p = 0; p < passes; p++)
        digest = digest * 33 + pipeline.run();
    std::printf("%016llx\n", (unsigned long long)digest);
}
