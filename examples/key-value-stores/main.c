/* kv-SYSTEM write|read FILE N
 *
 * Writes N records to a new store, or reads N records that `write` wrote and checks each. Keys
 * and values are the numbers from 1 to N with eight digits, in this order. Exit code 0 if every
 * record was stored or found as it should be, 1 if not, 2 for wrong arguments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

#define MOST_RECORDS 99999999

static const char *program = "kv";

bool kv_complain(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program, what, why);
    return false;
}

/* The number as text, without a terminating zero. */
static void digits(uint32_t number, char text[KV_SIZE])
{
    for (int i = KV_SIZE - 1; i >= 0; i--) {
        text[i] = (char)('0' + number % 10);
        number /= 10;
    }
}

static bool write_all(uint32_t records)
{
    char text[KV_SIZE];
    for (uint32_t i = 1; i <= records; i++) {
        digits(i, text);
        if (!kv_put(text, text))
            return false;
    }
    return true;
}

static bool read_all(uint32_t records)
{
    char text[KV_SIZE];
    const char *value;
    for (uint32_t i = 1; i <= records; i++) {
        digits(i, text);
        if (!kv_get(text, &value))
            return false;
        if (memcmp(text, value, KV_SIZE) != 0)
            return kv_complain("read", "a record has the wrong value");
    }
    return true;
}

static bool parse_records(const char *text, uint32_t *records)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || number == 0 ||
        number > MOST_RECORDS)
        return false;
    *records = (uint32_t)number;
    return true;
}

int main(int argc, char **argv)
{
    uint32_t records = 0;
    if (argc > 0)
        program = argv[0];
    bool writing = argc == 4 && strcmp(argv[1], "write") == 0;
    bool reading = argc == 4 && strcmp(argv[1], "read") == 0;
    if ((!writing && !reading) || !parse_records(argv[3], &records)) {
        fprintf(stderr, "usage: %s write|read FILE N (1 to %d)\n", program, MOST_RECORDS);
        return 2;
    }
    if (!kv_open(argv[2], writing, records))
        return 1;
    bool good = writing ? write_all(records) : read_all(records);
    /* Closed even after an error, so that nothing is left half open. */
    good = kv_close() && good;
    return good ? 0 : 1;
}
