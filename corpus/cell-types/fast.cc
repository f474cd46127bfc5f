// Finds the type of each cell of a table: date, truth value, number, or text, which most are.
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

enum class Type { Empty, Date, Truth, Number, Text };

static bool is_date(std::string_view cell)
{
    int dashes = 0, digits = 0;
    for (char c : cell) {
        dashes += c == '-' || c == '/';
        digits += c >= '0' && c <= '9';
    }
    return dashes == 2 && digits + dashes == int(cell.size());
}

static bool is_truth(std::string_view cell)
{
    std::string lower;
    for (char c : cell)
        lower.push_back(char(std::tolower(static_cast<unsigned char>(c))));
    return lower == "true" || lower == "false" || lower == "yes" || lower == "no";
}

static bool is_number(std::string_view cell)
{
    size_t digits = 0, points = 0;
    for (char c : cell) {
        digits += c >= '0' && c <= '9';
        points += c == '.';
    }
    const size_t sign = !cell.empty() && (cell[0] == '-' || cell[0] == '+');
    return digits && points <= 1 && digits + points + sign == cell.size();
}

static Type type_of(std::string_view cell)
{
    if (cell.empty())
        return Type::Empty;
    // What begins with a letter and has more than five is text.
    if (cell.size() > 5 && std::isalpha(static_cast<unsigned char>(cell[0])))
        return Type::Text;
    if (is_date(cell))
        return Type::Date;
    if (is_truth(cell))
        return Type::Truth;
    if (is_number(cell))
        return Type::Number;
    return Type::Text;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    static const char *const names[] = {"Aberdeen harbour", "Bergen", "Cuxhaven pier 4", "Dunkirk east", "Esbjerg", "Frederikshavn"};
    std::vector<std::string> cells;
    uint32_t state = 23;
    for (int c = 0; c < 4000; c++) {
        state = state * 1664525 + 1013904223;
        uint32_t kind = (state >> 16) % 40;
        if (kind == 0)
            cells.push_back("2024-05-" + std::to_string(10 + c % 18));
        else if (kind == 1)
            cells.push_back(std::to_string(c) + ".5");
        else if (kind == 2)
            cells.push_back(c % 2 ? "Yes" : "false");
        else
            cells.push_back(std::string(names[(state >> 24) % 6]) + " berth");
    }
    uint64_t found[5] = {0};
    for (int r = 0; r < rounds; r++)
        for (const std::string &cell : cells)
            found[int(type_of(cell))] += cell.size();
    std::printf("%llu %llu %llu %llu\n", (unsigned long long)found[1], (unsigned long long)found[2],
                (unsigned long long)found[3], (unsigned long long)found[4]);
}
