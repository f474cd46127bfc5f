/* Moves records from a file image to a report: through a reader's, a row's and a page's buffer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8192, ROW = 1024 };

struct reader {
    const unsigned char *image;
    size_t size, at;
    unsigned char block[BLOCK];
    size_t used, filled;
};

struct page {
    unsigned char bytes[1 << 15];
    size_t used;
    uint64_t digest, pages;
};

/* Copies so many bytes of the stream; 0 at its end. */
static int read_bytes(struct reader *r, void *to, size_t count)
{
    size_t done = 0;
    while (done < count) {
        if (r->used == r->filled) {
            size_t take = r->size - r->at < BLOCK ? r->size - r->at : BLOCK;
            if (take == 0)
                return 0;
            memcpy(r->block, r->image + r->at, take);
            r->at += take;
            r->used = 0;
            r->filled = take;
        }
        size_t part = r->filled - r->used < count - done ? r->filled - r->used : count - done;
        memcpy((unsigned char *)to + done, r->block + r->used, part);
        r->used += part;
        done += part;
    }
    return 1;
}

static void put_row(struct page *p, const unsigned char *row, uint16_t length)
{
    unsigned char framed[ROW + 4];
    framed[0] = 'R';
    memcpy(framed + 1, &length, 2);
    memcpy(framed + 3, row, length);
    if (sizeof p->bytes - p->used < (size_t)length + 3) {
        for (size_t i = 0; i < p->used; i += 512)
            p->digest = p->digest * 31 + p->bytes[i];
        p->used = 0;
        p->pages++;
    }
    memcpy(p->bytes + p->used, framed, (size_t)length + 3);
    p->used += (size_t)length + 3;
}

static void report(struct reader *r, struct page *p)
{
    unsigned char row[ROW];
    uint16_t length;
    while (read_bytes(r, &length, sizeof length) && read_bytes(r, row, length))
        put_row(p, row, length);
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    int passes = argc > 2 ? atoi(argv[2]) : 10;
    unsigned char *image = malloc(rows * (ROW + 2));
    size_t size = 0;
    uint32_t state = 131;
    for (size_t i = 0; i < rows; i++) {
        state = state * 1664525 + 1013904223;
        uint16_t length = (uint16_t)(700 + (state >> 24));
        memcpy(image + size, &length, 2);
        memset(image + size + 2, (int)(state >> 16), length);
        size += 2u + length;
    }
    struct reader *reader = calloc(1, sizeof *reader);
    struct page *page = calloc(1, sizeof *page);
    for (int p = 0; p < passes; p++) {
        *reader = (struct reader){.image = image, .size = size};
        report(reader, page);
    }
    printf("%llu pages, %016llx\n", (unsigned long long)page->pages, (unsigned long long)page->digest);
    free(page);
    free(reader);
    free(image);
    return 0;
}
