/* A column scan of a small database: selects the rows whose price lies in a range,
 * then adds up the quantities of the selected rows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct columns {
    size_t rows;
    int32_t *price;
    int32_t *quantity;
};

/* Numbers of the rows with low <= price < high; returns how many. */
static size_t select_range(const struct columns *c, int32_t low, int32_t high, uint32_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        if (c->price[i] >= low && c->price[i] < high)
            out[n++] = (uint32_t)i;
    }
    return n;
}

static int64_t total(const struct columns *c, const uint32_t *rows, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += c->quantity[rows[i]];
    return sum;
}

int main(int argc, char **argv)
{
    struct columns c = {.rows = argc > 1 ? strtoul(argv[1], 0, 10) : 100000};
    int queries = argc > 2 ? atoi(argv[2]) : 100;
    c.price = malloc(c.rows * sizeof *c.price);
    c.quantity = malloc(c.rows * sizeof *c.quantity);
    uint32_t *selected = malloc((c.rows + 1) * sizeof *selected);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < c.rows; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        c.price[i] = (int32_t)(state >> 40) % 10000;
        c.quantity[i] = (int32_t)(state >> 20 & 63);
    }
    uint64_t digest = 0;
    for (int q = 0; q < queries; q++) {
        int32_t low = 500 + q * 37 % 3000;
        size_t n = select_range(&c, low, low + 4500, selected);
        digest = digest * 31 + n + (uint64_t)total(&c, selected, n);
    }
    printf("%016llx\n", (unsigned long long)digest);
    free(c.price);
    free(c.quantity);
    free(selected);
    return 0;
}
