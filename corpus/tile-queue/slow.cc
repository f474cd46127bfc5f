// Two workers take the tiles of a fractal from a queue under a mutex; a tile takes milliseconds.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

struct Tile {
    int x, y;
};

class Queue {
public:
    explicit Queue(int across)
    {
        for (int y = 0; y < across; y++)
            for (int x = 0; x < across; x++)
                tiles_.push_back({x, y});
    }
    bool take(Tile &tile)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        if (tiles_.empty())
            return false;
        tile = tiles_.front();
        tiles_.pop_front();
        return true;
    }

private:
    std::mutex mutex_;
    std::deque<Tile> tiles_;
};

static uint64_t draw(const Tile &tile, int across)
{
    uint64_t inside = 0;
    for (int pixel = 0; pixel < 64 * 64; pixel++) {
        const double side = 3.0 / (64 * across);
        const double a = -2.2 + side * (tile.x * 64 + pixel % 64), b = -1.5 + side * (tile.y * 64 + pixel / 64);
        double x = 0, y = 0;
        int turn = 0;
        for (; turn < 300 && x * x + y * y < 4; turn++) {
            const double next = x * x - y * y + a;
            y = 2 * x * y + b;
            x = next;
        }
        inside += uint64_t(turn);
    }
    return inside;
}

static void draw_tiles(Queue &queue, int across, std::atomic<uint64_t> &sum)
{
    Tile tile;
    uint64_t own = 0;
    while (queue.take(tile))
        own += draw(tile, across);
    sum += own;
}

int main(int argc, char **argv)
{
    const int across = argc > 1 ? std::atoi(argv[1]) : 10;
    Queue queue(across);
    std::atomic<uint64_t> sum{0};
    std::thread first(draw_tiles, std::ref(queue), across, std::ref(sum)), second(draw_tiles, std::ref(queue), across, std::ref(sum));
    first.join();
    second.join();
    std::printf("%lu\n", (unsigned long)sum.load());
}
