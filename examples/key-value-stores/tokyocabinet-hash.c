/* Tokyo Cabinet's hash database. */
#include <tchdb.h>

#include "kv.h"

static TCHDB *db;
static char buffer[KV_SIZE];

static bool failed(const char *what)
{
    return kv_complain(what, tchdberrmsg(tchdbecode(db)));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    db = tchdbnew();
    /* Twice as many buckets as records; the other parameters are the library's own. */
    if (writing && !tchdbtune(db, 2 * (int64_t)records, -1, -1, 0))
        return failed("tune");
    int mode = writing ? HDBOWRITER | HDBOCREAT | HDBOTRUNC : HDBOREADER;
    return tchdbopen(db, file, mode) || failed("open");
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    return tchdbputkeep(db, key, KV_SIZE, value, KV_SIZE) || failed("put");
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    int size = tchdbget3(db, key, KV_SIZE, buffer, KV_SIZE);
    if (size < 0)
        return failed("get");
    *value = buffer;
    return size == KV_SIZE || kv_complain("get", "a value is too short");
}

bool kv_close(void)
{
    bool good = tchdbclose(db) || failed("close");
    tchdbdel(db);
    return good;
}
