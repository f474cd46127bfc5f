/* Shows the lines of a file as quoted strings, with redis' strings: repr FILE TIMES. Prints a sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sds.h"

int main(int argc, char **argv) {
    unsigned long sum = 0;
    if (argc != 3) return 2;
    for (int i = atoi(argv[2]); i > 0; i--) {
        FILE *file = fopen(argv[1], "r");
        char *line = NULL;
        size_t room = 0;
        ssize_t length;
        if (!file) return 1;
        while ((length = getline(&line, &room, file)) > 0) {
            sds shown = sdscatrepr(sdsempty(), line, length);
            sum += sdslen(shown) + shown[sdslen(shown) / 2];
            sdsfree(shown);
        }
        free(line);
        fclose(file);
    }
    printf("%lu\n", sum);
    return 0;
}
