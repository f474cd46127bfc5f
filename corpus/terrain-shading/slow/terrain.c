#include "terrain.h"

#include <stdlib.h>
#include <string.h>

void terrain_open(struct terrain *t, uint32_t tiles_wide, uint32_t tiles_high, const unsigned char **packed)
{
    memset(t, 0, sizeof *t);
    t->tiles_wide = tiles_wide;
    t->tiles_high = tiles_high;
    t->packed = packed;
    t->tiles = calloc((size_t)tiles_wide * tiles_high, sizeof *t->tiles);
}

int terrain_height(struct terrain *t, uint32_t x, uint32_t y)
{
    uint32_t index = (y >> TILE_BITS) * t->tiles_wide + (x >> TILE_BITS);
    struct tile *tile = t->tiles[index];
    if (!tile) {
        tile = &t->pool[t->used++ % RESIDENT];
        if (t->used > RESIDENT) {
            t->tiles[tile->index] = 0;
            t->evictions++;
        }
        const unsigned char *from = t->packed[index];
        int low = 32767, high = -32768;
        int16_t *row = tile->heights;
        for (int v = 0; v < TILE; v++, row += TILE) {
            int left = v ? row[-TILE] : 0;
            for (int u = 0; u < TILE; u++) {
                int above = v ? row[u - TILE] : left, delta = *from++;
                if (delta == 255) {
                    delta = from[0] << 8 | from[1];
                    from += 2;
                }
                delta = (delta >> 1) ^ -(delta & 1);
                left = (left + above) / 2 + delta;
                row[u] = (int16_t)left;
                if (left < low)
                    low = left;
                if (left > high)
                    high = left;
            }
        }
        tile->low = (int16_t)low;
        tile->high = (int16_t)high;
        tile->index = index;
        t->tiles[index] = tile;
        t->loads++;
    }
    return tile->heights[(y & (TILE - 1)) * TILE + (x & (TILE - 1))];
}
