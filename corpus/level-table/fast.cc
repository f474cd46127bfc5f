// Writes a table of water levels as text: station, minute, level in centimetres.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Level {
    uint16_t station;
    uint32_t minute;
    int32_t centimetres;
};

static std::string text_of(int64_t number)
{
    char text[24];
    return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

class Table {
public:
    void row(const Level &level)
    {
        text_ += text_of(level.station);
        text_ += ';';
        text_ += text_of(level.minute);
        text_ += ';';
        text_ += text_of(level.centimetres);
        text_ += '\n';
    }

    const std::string &text() const { return text_; }
    void clear() { text_.clear(); }

private:
    std::string text_;
};

int main(int argc, char **argv)
{
    int days = argc > 1 ? std::atoi(argv[1]) : 10;
    uint32_t state = 13, sum = 0;
    Table table;
    for (int d = 0; d < days; d++) {
        table.clear();
        for (uint32_t minute = 0; minute < 1440; minute++) {
            state = state * 1664525 + 1013904223;
            table.row({uint16_t(state >> 28), uint32_t(d) * 1440 + minute, int32_t(state >> 18) - 6000});
        }
        for (unsigned char c : table.text())
            sum = sum * 31 + c;
    }
    std::printf("%08x\n", sum);
}
