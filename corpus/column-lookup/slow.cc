// A report over rows of a table whose columns are found by name.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

class Table {
public:
    void add_column(const std::string &name) { index_.emplace(name, index_.size()); }

    size_t column(const std::string &name) const
    {
        auto found = index_.find(name);
        return found == index_.end() ? size_t(-1) : found->second;
    }

    std::vector<int64_t> &append()
    {
        rows_.emplace_back(index_.size());
        return rows_.back();
    }

    size_t rows() const { return rows_.size(); }
    const std::vector<int64_t> &row(size_t number) const { return rows_[number]; }

private:
    std::map<std::string, size_t> index_;
    std::vector<std::vector<int64_t>> rows_;
};

struct Query {
    std::string group, value, weight;
};

static int64_t field(const Table &table, size_t row, const std::string &name)
{
    return table.row(row)[table.column(name)];
}

static void summarise(const Table &table, const Query &query, std::vector<int64_t> &groups)
{
    for (size_t r = 0; r < table.rows(); r++) {
        int64_t group = field(table, r, query.group);
        int64_t value = field(table, r, query.value);
        int64_t weight = field(table, r, query.weight);
        groups[size_t(group) % groups.size()] += value * weight / 100 + (value > 900 ? value % 7 : 0);
    }
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    Table table;
    for (const char *name : {"account_number", "booking_date", "branch", "currency", "customer",
                             "net_amount", "product_group", "quantity", "sales_tax", "warehouse"})
        table.add_column(name);
    uint32_t state = 29;
    for (size_t r = 0; r < rows; r++)
        for (int64_t &cell : table.append())
            cell = int64_t((state = state * 1664525 + 1013904223) >> 20) % 1000;
    Query query{"product_group", "net_amount", "quantity"};
    std::vector<int64_t> groups(64);
    for (int p = 0; p < passes; p++)
        summarise(table, query, groups);
    uint64_t sum = 0;
    for (int64_t group : groups)
        sum = sum * 31 + uint64_t(group);
    std::printf("%016llx\n", (unsigned long long)sum);
}
