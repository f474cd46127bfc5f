/* Parses and prints an HTML file with tidy: parse FILE TIMES. */
#include <stdio.h>
#include <stdlib.h>

#include <tidy.h>
#include <tidybuffio.h>

int main(int count, char **arguments)
{
    unsigned long total = 0;
    (void)count;
    for (long i = atol(arguments[2]); i > 0; --i) {
        TidyDoc document = tidyCreate();
        TidyBuffer out, errors;
        tidyBufInit(&out);
        tidyBufInit(&errors);
        tidySetErrorBuffer(document, &errors);
        tidyOptSetBool(document, TidyForceOutput, yes);
        tidyParseFile(document, arguments[1]);
        tidySaveBuffer(document, &out);
        total += out.size;
        tidyRelease(document);
        tidyBufFree(&out);
        tidyBufFree(&errors);
    }
    printf("%lu\n", total);
    return 0;
}
