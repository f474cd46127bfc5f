#include <stddef.h>
#include <stdint.h>

enum { TILE_BITS = 6, TILE = 1 << TILE_BITS, RESIDENT = 256 };

struct tile {
    int16_t heights[TILE * TILE];
    int16_t low, high;
    uint32_t index;
};

struct terrain {
    uint32_t tiles_wide, tiles_high;
    struct tile **tiles;
    const unsigned char **packed;
    struct tile pool[RESIDENT];
    uint32_t used, loads, evictions;
};

void terrain_open(struct terrain *t, uint32_t tiles_wide, uint32_t tiles_high, const unsigned char **packed);
int terrain_height(struct terrain *t, uint32_t x, uint32_t y);
