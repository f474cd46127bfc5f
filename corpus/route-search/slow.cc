// Finds short ways through a large grid; each query marks where it has been.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

class Grid {
public:
    Grid(uint32_t width, uint32_t height) : width_(width), height_(height) {}

    // Length of a shortest way between two places, or -1 if it is over the limit.
    int distance(uint32_t from, uint32_t to, int limit)
    {
        // One mark for each cell of the grid, all clear.
        std::unique_ptr<uint16_t[], decltype(&std::free)> seen(
            static_cast<uint16_t *>(std::calloc(size_t(width_) * height_, sizeof(uint16_t))), std::free);
        queue_.assign(1, from);
        seen[from] = 1;
        for (size_t at = 0; at < queue_.size(); at++) {
            uint32_t here = queue_[at];
            int steps = seen[here];
            if (here == to)
                return steps - 1;
            if (steps > limit)
                break;
            for (uint32_t next : {here + 1, here - 1, here + width_, here - width_})
                if (next < width_ * height_ && !seen[next] && !wall(next)) {
                    seen[next] = uint16_t(steps + 1);
                    queue_.push_back(next);
                }
        }
        return -1;
    }

private:
    static bool wall(uint32_t cell) { return (cell * 2654435761u >> 29) == 0; }

    uint32_t width_, height_;
    std::vector<uint32_t> queue_;
};

int main(int argc, char **argv)
{
    uint32_t side = argc > 1 ? uint32_t(std::atoi(argv[1])) : 5000;
    int queries = argc > 2 ? std::atoi(argv[2]) : 100;
    Grid grid(side, side);
    uint32_t state = 1;
    long sum = 0;
    for (int q = 0; q < queries; q++) {
        state = state * 1664525 + 1013904223;
        uint32_t from = side * (100 + (state >> 8) % (side - 200)) + 100 + (state >> 20) % (side - 200);
        sum += grid.distance(from, from + 3 * side + 17, 40);
    }
    std::printf("%ld\n", sum);
}
