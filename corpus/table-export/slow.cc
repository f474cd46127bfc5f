// Exports a table of measurements as tab-separated text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

struct Row {
    std::string station;
    int hour;
    int temperature;
    int humidity;
};

class Exporter {
public:
    explicit Exporter(const char *path) : out_(path)
    {
        if (!out_) {
            std::cerr << "cannot write " << path << std::endl;
            std::exit(1);
        }
    }

    void write(const std::vector<Row> &rows)
    {
        for (const Row &row : rows) {
            out_ << row.station << '\t' << row.hour << '\t' << row.temperature << '\t'
                 << row.humidity << std::endl;
            lines_++;
        }
    }

    size_t lines() const { return lines_; }

private:
    std::ofstream out_;
    size_t lines_ = 0;
};

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int days = argc > 2 ? std::atoi(argv[2]) : 10;
    static const char *const stations[] = {"Abashiri", "Nemuro", "Choshi", "Hamamatsu"};
    std::vector<Row> table;
    uint32_t state = 1;
    for (size_t i = 0; i < rows; i++) {
        state = state * 1664525 + 1013904223;
        table.push_back({stations[state >> 30], int(i % 24), int(state >> 20 & 31) - 5, int(state >> 12 & 63) + 30});
    }
    Exporter exporter("/dev/null");
    for (int day = 0; day < days; day++)
        exporter.write(table);
    std::printf("%zu lines\n", exporter.lines());
}
