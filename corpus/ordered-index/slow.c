/* An ordered index of records with a caller's comparison, numeric by default, as an
 * embedded database has it: sorted pages, binary search within a page. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*compare_fn)(const uint64_t *, const uint64_t *);

struct page {
    uint64_t first;
    size_t used;
    uint64_t keys[64];
};

struct index {
    compare_fn compare;
    size_t pages;
    struct page *page;
};

static int compare_default(const uint64_t *a, const uint64_t *b)
{
    return (*a > *b) - (*a < *b);
}

static int compare_reverse(const uint64_t *a, const uint64_t *b)
{
    return compare_default(b, a);
}

/* Number of the page that may hold the key. */
static size_t find_page(const struct index *index, const uint64_t *key)
{
    size_t low = 0, size = index->pages;
    while (size > 1) {
        size_t half = size / 2;
        low += index->compare(&index->page[low + half].first, key) <= 0 ? half : 0;
        size -= half;
    }
    return low;
}

/* Position of the key in the page, or -1. */
static long find_in_page(const struct index *index, const struct page *page, const uint64_t *key)
{
    size_t low = 0, size = page->used;
    while (size > 1) {
        size_t half = size / 2;
        low += index->compare(&page->keys[low + half], key) <= 0 ? half : 0;
        size -= half;
    }
    return index->compare(&page->keys[low], key) == 0 ? (long)low : -1;
}

int main(int argc, char **argv)
{
    struct index index = {.compare = compare_default};
    index.pages = argc > 1 ? strtoul(argv[1], 0, 10) : 64;
    long lookups = argc > 2 ? atol(argv[2]) : 100000;
    if (argc > 3 && strcmp(argv[3], "reverse") == 0)
        index.compare = compare_reverse;
    index.page = calloc(index.pages, sizeof *index.page);
    size_t per_page = 64;
    for (size_t i = 0; i < index.pages * per_page; i++) {
        struct page *page = &index.page[i / per_page];
        size_t rank = index.compare == compare_reverse ? index.pages * per_page - i : i;
        page->keys[page->used++] = rank * 3;
        page->first = page->keys[0];
    }
    uint64_t state = 5, found = 0, places = 0;
    for (long i = 0; i < lookups; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t rank = (state >> 33) % (index.pages * per_page);
        uint64_t key = rank * 3 + (state >> 62 == 0);
        size_t page = find_page(&index, &key);
        long at = find_in_page(&index, &index.page[page], &key);
        if (at >= 0) {
            found++;
            places += page * per_page + (size_t)at;
        }
    }
    printf("%llu found, %llu\n", (unsigned long long)found, (unsigned long long)places);
    free(index.page);
    return 0;
}
