/* CDB, by the library tinycdb. A CDB is written as a whole and never changed. */
#include <cdb.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kv.h"

static int fd = -1;
static bool making;
static struct cdb_make make;
static struct cdb db;

static bool check(const char *what, bool good)
{
    return good || kv_complain(what, strerror(errno));
}

bool kv_open(const char *file, bool writing, uint32_t records)
{
    (void)records;
    making = writing;
    fd = open(file, writing ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0644);
    if (!check("open", fd >= 0))
        return false;
    bool good = writing ? cdb_make_start(&make, fd) == 0 : cdb_init(&db, fd) == 0;
    return check("start", good);
}

bool kv_put(const char key[KV_SIZE], const char value[KV_SIZE])
{
    /* Without a look whether the key is there: that would be a search in a list. */
    return check("put", cdb_make_add(&make, key, KV_SIZE, value, KV_SIZE) == 0);
}

bool kv_get(const char key[KV_SIZE], const char **value)
{
    int found = cdb_find(&db, key, KV_SIZE);
    if (found == 0)
        return kv_complain("get", "a record is not there");
    if (!check("get", found > 0))
        return false;
    if (cdb_datalen(&db) != KV_SIZE)
        return kv_complain("get", "a value has the wrong size");
    *value = cdb_getdata(&db);
    return check("get", *value != NULL);
}

bool kv_close(void)
{
    bool good = true;
    if (making)
        good = check("finish", cdb_make_finish(&make) == 0);
    else
        cdb_free(&db);
    return check("close", close(fd) == 0) && good;
}
