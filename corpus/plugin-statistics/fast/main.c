/* Scans a text with the plugin. */
#include <stdio.h>
#include <stdlib.h>
#include "scan.h"

int main(int argc, char **argv)
{
    int passes = argc > 1 ? atoi(argv[1]) : 1000;
    static const char text[] = "Lots of lines, with 12 or 345 numbers; nothing that would surprise (or so we hope) anyone.\n"
                               "Another one follows it: words, words, words and 6789 more words in between.\n";
    for (int i = 0; i < passes; i++)
        scan(text, sizeof text - 1);
    struct scan_counters c = scan_result();
    printf("%lu letters, %lu digits, %lu others, %016llx\n", c.letters, c.digits, c.others,
           (unsigned long long)c.digest);
    return 0;
}
