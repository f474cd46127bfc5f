/* Queries of a table in memory: query columns|keys COUNT. */
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(sqlite3 *database, const char *text) {
    sqlite3_stmt *query;
    if (sqlite3_prepare_v2(database, text, -1, &query, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(database));
        exit(1);
    }
    int rows = 0;
    for (; sqlite3_step(query) == SQLITE_ROW; rows++)
        printf("%s\n", (const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    return rows;
}

/* A table of thirty columns, and a sum over most of them. */
static void columns(sqlite3 *database, int count) {
    char table[2000] = "create table t(c0 integer", rows[4000], sum[2000] = "select sum(c1";
    strcpy(rows, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000) insert into t select i");
    for (int i = 1; i < 30; i++) {
        sprintf(table + strlen(table), ", c%d", i);
        sprintf(rows + strlen(rows), i % 3 ? ", i * %d %% 1000" : ", 'text' || (i * %d %% 77)", i + 1);
        if (i % 3)
            sprintf(sum + strlen(sum), " + c%d", i);
    }
    run(database, strcat(table, ")"));
    run(database, strcat(rows, " from n"));
    strcat(sum, ") from t where length(c27) < 9");
    while (count-- > 0)
        run(database, sum);
}

/* Two tables, of which the rows of one name those of the other in their order. */
static void keys(sqlite3 *database, int count) {
    run(database, "create table a(id integer primary key, x)");
    run(database, "create table b(id integer primary key, of integer, y)");
    run(database, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) "
                  "insert into a select i, i % 97 from n");
    run(database, "insert into b select id, id, id % 13 from a");
    while (count-- > 0)
        run(database, "select sum(a.x * b.y) from b cross join a on a.id = b.of");
}

int main(int argc, char **argv) {
    sqlite3 *database;
    if (argc < 3 || sqlite3_open(":memory:", &database) != SQLITE_OK)
        return 2;
    (strcmp(argv[1], "keys") ? columns : keys)(database, atoi(argv[2]));
    return sqlite3_close(database) != SQLITE_OK;
}
