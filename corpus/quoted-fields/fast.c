/* Reads quoted fields of a table: takes off the quotes, and doubled ones become one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies one quoted field to out, ended by NUL; returns what follows it. */
static const char *unquote(const char *in, char *out)
{
    in++;
    for (;;) {
        size_t run = (size_t)(strchr(in, '"') - in);
        memcpy(out, in, run);
        out += run;
        in += run;
        if (in[1] != '"')
            break;
        *out++ = '"';
        in += 2;
    }
    *out = 0;
    return in + 1;
}

static uint64_t read_rows(const char *table, char *field, size_t *fields)
{
    uint64_t digest = 0;
    while (*table) {
        table = unquote(table, field);
        digest = digest * 31 + (unsigned char)field[*fields % 16];
        ++*fields;
        table++;        /* a comma or the line's end */
    }
    return digest;
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 100, passes = argc > 2 ? atoi(argv[2]) : 100;
    static const char row[] =
        "\"Minutes of the ordinary meeting of the committee for harbours and waterways, first part\","
        "\"The chair opened the meeting at nine, welcomed the members, and asked whether the minutes "
        "of the meeting before could be accepted; one member wished to see \"\"substantial\"\" changed to "
        "\"\"considerable\"\", which was agreed to by all who were present on that day\"\n";
    char *table = malloc((size_t)rows * sizeof row + 1), *at = table, field[512];
    for (int i = 0; i < rows; i++)
        at = stpcpy(at, row);
    uint64_t digest = 0;
    size_t fields = 0;
    for (int p = 0; p < passes; p++)
        digest += read_rows(table, field, &fields);
    printf("%zu fields, %016llx\n", fields, (unsigned long long)digest);
    free(table);
    return 0;
}
