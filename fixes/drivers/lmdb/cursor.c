/* Looks keys up in order with one cursor: cursor FILE KEYS PASSES. */
#include "lmdb.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MDB_val key_of(char *text, unsigned number) {
    MDB_val key = {11, text};
    memcpy(text, "key", 3);
    for (int at = 10; at >= 3; at--, number /= 10)
        text[at] = '0' + number % 10;
    return key;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    int keys = atoi(argv[2]), passes = atoi(argv[3]);
    char text[16], value[32];
    MDB_env *environment;
    MDB_txn *transaction;
    MDB_dbi table;
    MDB_cursor *cursor;
    mdb_env_create(&environment);
    mdb_env_set_mapsize(environment, 1 << 28);
    if (mdb_env_open(environment, argv[1], MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK, 0600))
        return 1;
    mdb_txn_begin(environment, 0, 0, &transaction);
    mdb_dbi_open(transaction, 0, 0, &table);
    for (int i = 0; i < keys; i++) {
        MDB_val key = key_of(text, 2 * i), data = {0, value};
        data.mv_size = sprintf(value, "value %d", i);
        mdb_put(transaction, table, &key, &data, MDB_APPEND);
    }
    mdb_txn_commit(transaction);
    mdb_txn_begin(environment, 0, MDB_RDONLY, &transaction);
    mdb_cursor_open(transaction, table, &cursor);
    long bytes = 0;
    for (int pass = 0; pass < passes; pass++)
        for (int i = 0; i < keys; i += 3) {
            MDB_val key = key_of(text, 2 * i), data;
            if (mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE) == 0)
                bytes += data.mv_size;
        }
    printf("%ld\n", bytes);
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    mdb_env_close(environment);
    remove(argv[1]);
    return 0;
}
