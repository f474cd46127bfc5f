/* Builds an array of the numbers of a file, one a line, and prints how long its text is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cJSON.h"

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        return 1;
    cJSON *list = cJSON_CreateArray();
    char line[64];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        cJSON_AddItemToArray(list, cJSON_CreateString(line));
    }
    fclose(file);
    char *text = cJSON_PrintUnformatted(list);
    printf("%d %zu\n", cJSON_GetArraySize(list), strlen(text));
    free(text);
    cJSON_Delete(list);
    return 0;
}
