// Renders rows through a chain of colour stages, chosen at run time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

struct Stage {
    virtual ~Stage() = default;
    virtual uint32_t apply(uint32_t pixel) const = 0;
};

class Brighten final : public Stage {
public:
    explicit Brighten(uint32_t amount) : amount_(amount) {}
    uint32_t apply(uint32_t p) const override
    {
        uint32_t sum = (p & 0x7f7f7f7f) + amount_;
        return sum ^ (p & 0x80808080);
    }

private:
    uint32_t amount_;
};

class Swap final : public Stage {
public:
    uint32_t apply(uint32_t p) const override { return p >> 16 | p << 16; }
};

class Invert final : public Stage {
public:
    uint32_t apply(uint32_t p) const override { return ~p; }
};

static std::unique_ptr<Stage> make_stage(const char *name)
{
    if (!std::strcmp(name, "swap"))
        return std::make_unique<Swap>();
    if (!std::strcmp(name, "invert"))
        return std::make_unique<Invert>();
    return std::make_unique<Brighten>(0x01030201);
}

static void render(const Stage &stage, std::vector<uint32_t> &row)
{
    for (uint32_t &pixel : row)
        pixel = stage.apply(pixel);
}

int main(int argc, char **argv)
{
    auto stage = make_stage(argc > 1 ? argv[1] : "brighten");
    int rows = argc > 2 ? std::atoi(argv[2]) : 1000;
    std::vector<uint32_t> row(1920);
    uint64_t sum = 0;
    for (int y = 0; y < rows; y++) {
        if (y % 16 == 0)
            for (size_t x = 0; x < row.size(); x++)
                row[x] = uint32_t(x * 2654435761u) ^ uint32_t(y);
        render(*stage, row);
        sum = sum * 31 + row[size_t(y) % row.size()];
    }
    std::printf("%016llx\n", (unsigned long long)sum);
}
