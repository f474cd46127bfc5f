/* Berkeley DB's B-tree: writes N records in random order, or reads them all in another.
 *
 *     btree write FILE N
 *     btree read FILE N
 *
 * The keys are the numbers below N with eight decimal digits, in an order that is the same in
 * every run; the values are the same digits. Exit status: 0 all is there, 1 it is not, 2 usage.
 */
#include <db.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All pages fit: what is counted is the search in them, not reading them again and again. */
#define CACHE_BYTES (256u << 20)

enum { DIGITS = 8, MOST_RECORDS = 100000000 };

static bool check(const char *what, int error)
{
    if (error != 0)
        fprintf(stderr, "btree: %s: %s\n", what, db_strerror(error));
    return error == 0;
}

/* splitmix64 (Vigna, public domain): the C library's generators may change. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The numbers below `count` in an order that `seed` decides (Fisher and Yates). */
static uint32_t *shuffled(uint32_t count, uint64_t seed)
{
    uint32_t *numbers = malloc(count * sizeof *numbers);
    if (numbers == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = (uint32_t)(next(&seed) % (i + 1));
        numbers[i] = numbers[j];
        numbers[j] = i;
    }
    return numbers;
}

/* A DBT has fields that must be zero. */
static DBT text(char *digits)
{
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = digits;
    dbt.size = DIGITS;
    return dbt;
}

static bool write_one(DB *db, char *digits)
{
    DBT key = text(digits), value = text(digits);
    return check("put", db->put(db, NULL, &key, &value, DB_NOOVERWRITE));
}

static bool read_one(DB *db, char *digits)
{
    char found[DIGITS];
    DBT key = text(digits), value;
    memset(&value, 0, sizeof value);
    value.data = found;
    value.ulen = sizeof found;
    value.flags = DB_DBT_USERMEM;
    if (!check("get", db->get(db, NULL, &key, &value, 0)))
        return false;
    if (value.size == DIGITS && memcmp(found, digits, DIGITS) == 0)
        return true;
    fprintf(stderr, "btree: another value under key %s\n", digits);
    return false;
}

static bool run(DB *db, bool writing, const char *file, const uint32_t *order, uint32_t count)
{
    u_int32_t flags = writing ? DB_CREATE | DB_TRUNCATE : DB_RDONLY;
    if (!check("set_cachesize", db->set_cachesize(db, 0, CACHE_BYTES, 1)) ||
        !check(file, db->open(db, NULL, file, NULL, DB_BTREE, flags, 0644)))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        char digits[DIGITS + 3];
        snprintf(digits, sizeof digits, "%08" PRIu32, order[i]);
        if (!(writing ? write_one : read_one)(db, digits))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    bool writing = argc == 4 && strcmp(argv[1], "write") == 0;
    bool reading = argc == 4 && strcmp(argv[1], "read") == 0;
    unsigned long count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    if ((!writing && !reading) || count == 0 || count > MOST_RECORDS) {
        fprintf(stderr, "usage: btree write|read FILE N   (N from 1 to %d)\n", MOST_RECORDS);
        return 2;
    }
    uint32_t *order = shuffled((uint32_t)count, writing ? 1 : 2);
    if (order == NULL) {
        perror("btree");
        return 1;
    }
    DB *db;
    if (!check("create", db_create(&db, NULL, 0)))
        return 1;
    bool good = run(db, writing, argv[2], order, (uint32_t)count);
    good = check("close", db->close(db, 0)) && good;
    free(order);
    return good ? 0 : 1;
}
