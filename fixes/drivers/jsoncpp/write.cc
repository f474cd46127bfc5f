// Reads a JSON file with jsoncpp and writes it again: write FILE TIMES.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <json/json.h>

int main(int, char **arguments)
{
    std::ifstream file(arguments[1]);
    Json::Value root;
    file >> root;
    Json::StreamWriterBuilder builder;
    builder["indentation"] = "";
    size_t total = 0;
    for (long i = std::atol(arguments[2]); i > 0; --i)
        total += Json::writeString(builder, root).size();
    std::printf("%zu\n", total);
    return 0;
}
