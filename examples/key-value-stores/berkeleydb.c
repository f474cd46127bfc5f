/* Berkeley DB without an environment: its hash (KV_TYPE is DB_HASH) or its B+ tree (DB_BTREE). */
#include <db.h>
#include <string.h>

#include "kv.h"

/* The default of 256 KiB would make this a test of reading pages again. */
#define CACHE_BYTES (256u << 20)

static DB *db;
static char buffer[KV_SIZE];

static bool check(const char *what, int error)
{
    return error == 0 || kv_complain(what, db_strerror(error));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    if (!check("create", db_create(&db, NULL, 0)))
        return false;
    if (!check("set_cachesize", db->set_cachesize(db, 0, CACHE_BYTES, 1)))
        return false;
    if (writing && KV_TYPE == DB_HASH &&
        !check("set_h_nelem", db->set_h_nelem(db, records)))
        return false;
    u_int32_t flags = writing ? DB_CREATE | DB_TRUNCATE : DB_RDONLY;
    return check("open", db->open(db, NULL, file, NULL, KV_TYPE, flags, 0644));
}

/* A DBT has fields that must be zero; the library changes neither key nor value. */
static DBT data(const char *bytes)
{
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = (void *)bytes;
    dbt.size = KV_SIZE;
    return dbt;
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    DBT k = data(key), v = data(value);
    return check("put", db->put(db, NULL, &k, &v, DB_NOOVERWRITE));
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    DBT k = data(key), v = data(buffer);
    v.ulen = KV_SIZE;
    v.flags = DB_DBT_USERMEM;
    if (!check("get", db->get(db, NULL, &k, &v, 0)))
        return false;
    *value = buffer;
    return v.size == KV_SIZE || kv_complain("get", "a value is too short");
}

bool kv_close(void)
{
    return check("close", db->close(db, 0));
}
