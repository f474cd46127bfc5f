/* Tokyo Cabinet's B+ tree, all its parameters the library's own. */
#include <tcbdb.h>

#include "kv.h"

static TCBDB *db;

static bool failed(const char *what)
{
    return kv_complain(what, tcbdberrmsg(tcbdbecode(db)));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    (void)records;
    db = tcbdbnew();
    int mode = writing ? BDBOWRITER | BDBOCREAT | BDBOTRUNC : BDBOREADER;
    return tcbdbopen(db, file, mode) || failed("open");
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    return tcbdbputkeep(db, key, KV_SIZE, value, KV_SIZE) || failed("put");
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    int size = 0;
    const void *found = tcbdbget3(db, key, KV_SIZE, &size);
    if (found == NULL)
        return failed("get");
    *value = found;
    return size == KV_SIZE || kv_complain("get", "a value is too short");
}

bool kv_close(void)
{
    bool good = tcbdbclose(db) || failed("close");
    tcbdbdel(db);
    return good;
}
