/* Parses a document in blocks of 4 kB, of which attributes are longer than a block: blocks FILE. */
#include <expat.h>
#include <stdio.h>
#include <string.h>

static long letters;

static void start(void *data, const char *name, const char **attributes) {
    for (letters += strlen(name); *attributes; attributes++)
        letters += strlen(*attributes);
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    XML_Parser parser = XML_ParserCreate(NULL);
    char block[4096];
    size_t bytes;
    if (!file || !parser)
        return 2;
    XML_SetElementHandler(parser, start, NULL);
    while ((bytes = fread(block, 1, sizeof block, file)) > 0)
        if (!XML_Parse(parser, block, bytes, 0))
            return 1;
    if (!XML_Parse(parser, block, 0, 1))
        return 1;
    printf("%ld\n", letters);
    return 0;
}
