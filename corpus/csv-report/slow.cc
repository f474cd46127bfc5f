// Reads a CSV table and adds up amounts by category and month.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static std::string make_table(int rows)
{
    static const char *const categories[] = {"travel and accommodation", "office supplies and paper",
                                             "external consulting services", "training and conferences"};
    std::string table;
    unsigned state = 11;
    for (int i = 0; i < rows; i++) {
        state = state * 1664525 + 1013904223;
        char line[160];
        std::snprintf(line, sizeof line, "order-2024-%08u,%s,2024-%02u-%02u,%u.%02u,approved by the board\n",
                      i, categories[state >> 30], 1 + (state >> 8) % 12, 1 + (state >> 12) % 28,
                      (state >> 10) % 5000, (state >> 4) % 100);
        table += line;
    }
    return table;
}

static std::vector<std::string> split(const std::string &line, char separator)
{
    std::vector<std::string> fields;
    size_t start = 0;
    for (;;) {
        size_t end = line.find(separator, start);
        if (end == std::string::npos)
            break;
        fields.push_back(line.substr(start, end - start));
        start = end + 1;
    }
    fields.push_back(line.substr(start));
    return fields;
}

struct Report {
    long long cents[4][13] = {};
    long rows = 0;

    void add(const std::string &line)
    {
        std::vector<std::string> fields = split(line, ',');
        if (fields.size() < 5)
            return;
        int month = std::atoi(fields[2].c_str() + 5);
        char *rest;
        long long amount = std::strtoll(fields[3].c_str(), &rest, 10) * 100;
        if (*rest == '.')
            amount += std::atoi(rest + 1);
        cents[fields[1].size() & 3][month] += amount;
        rows++;
    }
};

int main(int argc, char **argv)
{
    const std::string table = make_table(argc > 1 ? std::atoi(argv[1]) : 1000);
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    Report report;
    for (int p = 0; p < passes; p++) {
        size_t start = 0;
        while (start < table.size()) {
            size_t end = table.find('\n', start);
            report.add(table.substr(start, end - start));
            start = end + 1;
        }
    }
    unsigned long long sum = 0;
    for (auto &category : report.cents)
        for (long long cents : category)
            sum = sum * 1000003 + (unsigned long long)cents;
    std::printf("%ld rows, %016llx\n", report.rows, sum);
}
