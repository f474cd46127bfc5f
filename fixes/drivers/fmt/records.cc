// Formats records of strings and numbers with fmt: records TIMES.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

int main(int, char **arguments)
{
    const long times = std::atol(arguments[1]);
    const std::string names[] = {"a lever of steel, round", "the long coupling of the narrow spring",
                                 "copper valve for seventeen pressures", "washer under the plate of the bracket"};
    size_t total = 0;
    fmt::memory_buffer out;
    for (long i = 0; i < times; ++i) {
        out.clear();
        fmt::format_to(fmt::appender(out), "part {} is {} at {}, made of {}\n", i, names[i % 4], i % 977, names[(i + 1) % 4]);
        total += out.size();
    }
    std::printf("%zu\n", total);
    return 0;
}
