/* Tables of request headers, filled and asked as a server does: driver REQUESTS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apr_general.h"
#include "apr_pools.h"
#include "apr_tables.h"

static const char *const names[] = {
    "Host", "User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Content-Type", "Content-Length",
    "Origin", "Connection", "Referer", "Cookie", "Cache-Control", "Sec-Fetch-Dest", "Sec-Fetch-Mode",
    "Sec-Fetch-Site", "Sec-Fetch-User", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Request-Id"};
static const char *const asked[] = {
    "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Host", "If-Modified-Since", "If-None-Match",
    "Range", "If-Range", "Authorization", "Accept-Encoding", "Accept", "Accept-Charset", "Content-Encoding", "Cookie",
    "Upgrade", "X-Forwarded-For", "Cache-Control", "Pragma", "Sec-WebSocket-Key", "User-Agent", "X-Request-Id", "Via", "Cookie2"};

int main(int argc, char **argv)
{
    long requests = atol(argv[1]), found = 0;
    apr_pool_t *all, *pool;
    apr_initialize();
    apr_pool_create(&all, NULL);
    apr_pool_create(&pool, all);
    for (long r = 0; r < requests; r++) {
        apr_table_t *in = apr_table_make(pool, 25);
        char value[32];
        snprintf(value, sizeof value, "%ld", r * 7);
        const char *kept = apr_pstrdup(pool, value);
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            if ((r + i) % 11)
                apr_table_setn(in, names[i], kept);
        for (int module = 0; module < 3; module++)
            for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++)
                if (apr_table_get(in, asked[i]))
                    found++;
        apr_pool_clear(pool);
    }
    printf("%ld\n", found);
    return 0;
}
