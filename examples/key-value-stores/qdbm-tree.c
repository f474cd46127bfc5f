/* QDBM's B+ tree, Villa, all its parameters the library's own. */
#include <depot.h>
#include <stdlib.h>
#include <villa.h>

#include "kv.h"

static VILLA *db;

static bool failed(const char *what)
{
    return kv_complain(what, dperrmsg(dpecode));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    (void)records;
    int mode = writing ? VL_OWRITER | VL_OCREAT | VL_OTRUNC : VL_OREADER;
    db = vlopen(file, mode, VL_CMPLEX);
    return db != NULL || failed("open");
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    return vlput(db, key, KV_SIZE, value, KV_SIZE, VL_DKEEP) || failed("put");
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    int size = 0;
    *value = vlgetcache(db, key, KV_SIZE, &size);
    if (*value == NULL)
        return failed("get");
    return size == KV_SIZE || kv_complain("get", "a value is too short");
}

bool kv_close(void)
{
    return vlclose(db) || failed("close");
}
