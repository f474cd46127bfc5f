// Compresses the lines of a file, each by itself, with snappy: messages FILE TIMES.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "snappy.h"

int main(int, char **arguments)
{
    std::ifstream file(arguments[1]);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    std::vector<char> packed(1 << 16);
    size_t total = 0, size;
    for (long i = std::atol(arguments[2]); i > 0; --i)
        for (const std::string &line : lines) {
            snappy::RawCompress(line.data(), line.size(), packed.data(), &size);
            total += snappy::IsValidCompressedBuffer(packed.data(), size);
        }
    std::printf("%zu\n", total);
    return 0;
}
