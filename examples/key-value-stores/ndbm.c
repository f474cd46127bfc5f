/* NDBM's interface, as GDBM provides it. It takes no parameters. */
#include <errno.h>
#include <fcntl.h>
#include <ndbm.h>
#include <string.h>

#include "kv.h"

static DBM *db;

bool kv_open(const char *file, bool writing, uint32_t records)
{
    (void)records;
    int flags = writing ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY;
    /* The interface is older than const. */
    db = dbm_open((char *)file, flags, 0644);
    return db != NULL || kv_complain("open", strerror(errno));
}

static datum data(const char *bytes)
{
    datum d = {.dptr = (char *)bytes, .dsize = KV_SIZE};
    return d;
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    int result = dbm_store(db, data(key), data(value), DBM_INSERT);
    if (result > 0)
        return kv_complain("put", "the record is there already");
    return result == 0 || kv_complain("put", gdbm_strerror(dbm_error(db)));
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    datum found = dbm_fetch(db, data(key));
    if (found.dptr == NULL)
        return kv_complain("get", "a record is not there");
    *value = found.dptr;
    return found.dsize == KV_SIZE || kv_complain("get", "a value has the wrong size");
}

bool kv_close(void)
{
    bool good = !dbm_error(db) || kv_complain("close", gdbm_strerror(dbm_error(db)));
    dbm_close(db);
    return good;
}
