// Reads a JSON file with nlohmann's library and writes it again: dump FILE TIMES.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

int main(int, char **arguments)
{
    std::ifstream file(arguments[1]);
    const nlohmann::json root = nlohmann::json::parse(file);
    size_t total = 0;
    for (long i = std::atol(arguments[2]); i > 0; --i)
        total += root.dump().size();
    std::printf("%zu\n", total);
    return 0;
}
