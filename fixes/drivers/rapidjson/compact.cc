// Writes a JSON document without white space, some times: compact FILE TIMES.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "rapidjson/reader.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

int main(int, char **arguments)
{
    std::ifstream file(arguments[1]);
    std::stringstream content;
    content << file.rdbuf();
    const std::string text = content.str();
    size_t total = 0;
    for (long i = std::atol(arguments[2]); i > 0; --i) {
        rapidjson::StringStream in(text.c_str());
        rapidjson::StringBuffer out;
        rapidjson::Writer<rapidjson::StringBuffer> writer(out);
        rapidjson::Reader reader;
        reader.Parse(in, writer);
        total += out.GetSize();
    }
    std::printf("%zu\n", total);
    return 0;
}
