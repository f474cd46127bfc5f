// Shortens the lines of a file to 80 columns as ninja does for its status: elide FILE TIMES.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "elide_middle.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream file(argv[1]);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  size_t length = 0;
  for (int times = atoi(argv[2]); times > 0; times--) {
    for (const std::string& line : lines) {
      std::string shown = line;
      ElideMiddleInPlace(shown, 80);
      length += shown.size();
    }
  }
  printf("%zu\n", length);
}
