/* Reads a JSON file and writes it out as text a number of times: dump FILE TIMES. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    json_error_t error;
    size_t total = 0;
    json_t *root = argc == 3 ? json_load_file(argv[1], 0, &error) : NULL;

    if (!root)
        return 2;
    for (int times = atoi(argv[2]); times > 0; times--) {
        char *text = json_dumps(root, JSON_COMPACT);
        total += strlen(text);
        free(text);
    }
    printf("%zu\n", total);
    json_decref(root);
    return 0;
}
