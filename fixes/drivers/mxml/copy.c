/* Reads a file as XML and prints how long it is when it is written again, so many times. */
#include <mxml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    int times = argc > 2 ? atoi(argv[2]) : 1;
    unsigned long bytes = 0;
    if (file == NULL)
        return 1;
    mxml_node_t *tree = mxmlLoadFile(NULL, file, MXML_OPAQUE_CALLBACK);
    fclose(file);
    if (tree == NULL)
        return 2;
    while (times-- > 0) {
        char *text = mxmlSaveAllocString(tree, MXML_NO_CALLBACK);
        bytes += strlen(text);
        free(text);
    }
    mxmlDelete(tree);
    printf("%lu\n", bytes);
    return 0;
}
