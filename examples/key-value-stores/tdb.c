/* TDB. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <tdb.h>

#include "kv.h"

static struct tdb_context *db;
static TDB_DATA fetched;

static bool failed(const char *what)
{
    return kv_complain(what, tdb_errorstr(db));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    int flags = writing ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY;
    /* Twice as many buckets as records. One process, so no lock per record: none of the other
     * stores takes one. */
    db = tdb_open(file, writing ? 2 * (int)records : 0, TDB_NOLOCK | TDB_NOSYNC, flags, 0644);
    return db != NULL || kv_complain("open", strerror(errno));
}

static TDB_DATA data(const char *bytes)
{
    TDB_DATA d = {.dptr = (unsigned char *)bytes, .dsize = KV_SIZE};
    return d;
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    return tdb_store(db, data(key), data(value), TDB_INSERT) == 0 || failed("put");
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    free(fetched.dptr);
    fetched = tdb_fetch(db, data(key));
    if (fetched.dptr == NULL)
        return failed("get");
    *value = (const char *)fetched.dptr;
    return fetched.dsize == KV_SIZE || kv_complain("get", "a value has the wrong size");
}

bool kv_close(void)
{
    free(fetched.dptr);
    fetched.dptr = NULL;
    return tdb_close(db) == 0 || kv_complain("close", strerror(errno));
}
