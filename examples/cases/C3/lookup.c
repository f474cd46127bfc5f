/* Berkeley DB's B-tree, in memory: N records are written, then all are looked up in random order,
 * ROUNDS times.
 *
 *     lookup N ROUNDS
 *
 * Keys and values are the numbers below N with eight decimal digits. What fits the processor's
 * caches costs what the library's code costs. Exit status: 0 all is there, 1 it is not, 2 usage.
 */
#include <db.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 8, MOST_RECORDS = 10000000 };

static int failed(const char *what, int error)
{
    fprintf(stderr, "lookup: %s: %s\n", what, db_strerror(error));
    return 1;
}

static void shuffle(uint32_t *numbers, uint32_t count)
{
    uint64_t state = 42;
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        /* Knuth's multiplier for 64 bits; the upper half is random enough. */
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t j = (uint32_t)((state >> 32) % i), number = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = number;
    }
}

static void write_digits(char digits[DIGITS], uint32_t number)
{
    for (int i = DIGITS; i-- > 0; number /= 10)
        digits[i] = (char)('0' + number % 10);
}

int main(int argc, char **argv)
{
    uint32_t count = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    uint32_t rounds = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (count == 0 || count > MOST_RECORDS || rounds == 0) {
        fputs("usage: lookup N ROUNDS\n", stderr);
        return 2;
    }
    uint32_t *order = malloc(count * sizeof *order);
    if (order == NULL)
        return failed("malloc", ENOMEM);
    shuffle(order, count);

    DB *db;
    int error = db_create(&db, NULL, 0);
    if (error == 0)
        error = db->set_cachesize(db, 0, 64u << 20, 1);
    if (error == 0)
        error = db->open(db, NULL, NULL, NULL, DB_BTREE, DB_CREATE, 0);
    if (error != 0)
        return failed("open", error);

    char digits[DIGITS], found[DIGITS];
    DBT key = {.data = digits, .size = DIGITS};
    DBT value = {.data = digits, .size = DIGITS};
    for (uint32_t i = 0; i < count; i++) {
        write_digits(digits, order[i]);
        if ((error = db->put(db, NULL, &key, &value, 0)) != 0)
            return failed("put", error);
    }
    value = (DBT){.data = found, .ulen = DIGITS, .flags = DB_DBT_USERMEM};
    uint64_t sum = 0;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < count; i++) {
            write_digits(digits, order[i]);
            if ((error = db->get(db, NULL, &key, &value, 0)) != 0)
                return failed("get", error);
            sum += (unsigned char)found[DIGITS - 1];
        }
    printf("%llu\n", (unsigned long long)sum);
    free(order);
    return (error = db->close(db, 0)) != 0 ? failed("close", error) : 0;
}
