// Parses a file and prints its document into memory, so many times: FILE TIMES.
#include "tinyxml2.h"
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
    tinyxml2::XMLDocument document;
    if (argc < 3 || document.LoadFile(argv[1]) != tinyxml2::XML_SUCCESS)
        return 2;
    unsigned long bytes = 0;
    for (int times = std::atoi(argv[2]); times > 0; times--) {
        tinyxml2::XMLPrinter printer;
        document.Print(&printer);
        bytes += printer.CStrSize();
    }
    std::printf("%lu\n", bytes);
    return 0;
}
