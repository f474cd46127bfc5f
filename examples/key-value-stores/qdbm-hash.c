/* QDBM's hash database, Depot. */
#include <depot.h>
#include <stdlib.h>

#include "kv.h"

static DEPOT *db;
static char buffer[KV_SIZE];

static bool failed(const char *what)
{
    return kv_complain(what, dperrmsg(dpecode));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    int mode = writing ? DP_OWRITER | DP_OCREAT | DP_OTRUNC : DP_OREADER;
    /* Twice as many buckets as records. */
    db = dpopen(file, mode, writing ? 2 * (int)records : -1);
    return db != NULL || failed("open");
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    return dpput(db, key, KV_SIZE, value, KV_SIZE, DP_DKEEP) || failed("put");
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    int size = dpgetwb(db, key, KV_SIZE, 0, KV_SIZE, buffer);
    if (size < 0)
        return failed("get");
    *value = buffer;
    return size == KV_SIZE || kv_complain("get", "a value is too short");
}

bool kv_close(void)
{
    return dpclose(db) || failed("close");
}
