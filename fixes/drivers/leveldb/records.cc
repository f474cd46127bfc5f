/* Fills a store with so many made-up records and reads all in order so many times: driver FOLDER RECORDS TIMES. */
#include "leveldb/db.h"
#include "leveldb/cache.h"
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int records = atoi(argv[2]), times = atoi(argv[3]);
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = leveldb::kNoCompression;
    options.block_cache = leveldb::NewLRUCache(256 << 20);
    leveldb::DestroyDB(argv[1], options);
    leveldb::DB *db = nullptr;
    if (!leveldb::DB::Open(options, argv[1], &db).ok())
        return 1;
    char key[32], value[48];
    for (int at = 0; at < records; at++) {
        int length = snprintf(value, sizeof value, "%d apples", at * 7919 % 100003);
        snprintf(key, sizeof key, "shop/north/item/%012d", at);
        db->Put(leveldb::WriteOptions(), key, leveldb::Slice(value, length));
    }
    db->CompactRange(nullptr, nullptr);
    unsigned long bytes = 0, sum = 0;
    while (times-- > 0) {
        leveldb::Iterator *all = db->NewIterator(leveldb::ReadOptions());
        for (all->SeekToFirst(); all->Valid(); all->Next()) {
            bytes += all->value().size();
            sum = sum * 31 + (unsigned char)all->key()[all->key().size() - 1];
        }
        delete all;
    }
    printf("%lu %lu\n", bytes, sum);
    delete db;
    return 0;
}
