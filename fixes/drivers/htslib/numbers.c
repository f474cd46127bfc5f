/* Prints the numbers of a file, one a line, with htslib's kputd: numbers FILE TIMES. */
#include <stdio.h>
#include <stdlib.h>

#include "htslib/kstring.h"

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!file) return 2;
    enum { MOST = 1 << 20 };
    double *numbers = malloc(MOST * sizeof *numbers);
    size_t count = 0, length = 0;
    while (count < MOST && fscanf(file, "%lf", &numbers[count]) == 1) count++;
    fclose(file);
    kstring_t text = {0, 0, NULL};
    for (int times = atoi(argv[2]); times > 0; times--) {
        text.l = 0;
        for (size_t i = 0; i < count; i++) {
            kputd(numbers[i], &text);
            kputc_('\t', &text);
        }
        length += text.l;
    }
    printf("%zu\n", length);
    free(ks_release(&text));
    free(numbers);
    return 0;
}
