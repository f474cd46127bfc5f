// Adds up the numbers of a file, one a line, with double-conversion: sum FILE TIMES.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <double-conversion/double-conversion.h>

int main(int, char **arguments)
{
    using double_conversion::StringToDoubleConverter;
    std::ifstream file(arguments[1]);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    const StringToDoubleConverter converter(StringToDoubleConverter::NO_FLAGS, 0.0, 0.0, nullptr, nullptr);
    double total = 0;
    for (long i = std::atol(arguments[2]); i > 0; --i)
        for (const std::string &line : lines) {
            int used;
            total += converter.StringToDouble(line.data(), static_cast<int>(line.size()), &used);
        }
    std::printf("%.6f\n", total);
    return 0;
}
