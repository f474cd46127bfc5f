// Trains a pinball-loss regression: the gradient differs by the side on which a point lies.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Point {
    int x, y;
};

static int64_t step(const std::vector<Point> &points, int slope, int offset)
{
    int64_t sum = 0;
    for (size_t i = 0; i < points.size(); i++) {
        int error = points[i].y - ((slope * points[i].x >> 12) + offset);
        int above = (9 * error * (points[i].x >> 4)) >> 4;
        int below = -(error * (points[i].x >> 4)) >> 4;
        sum += below + ((above - below) & (-error >> 31));
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<Point> points(count);
    uint32_t state = 5;
    for (Point &p : points) {
        p.x = int((state = state * 1664525 + 1013904223) >> 20);
        p.y = int((state = state * 1664525 + 1013904223) >> 20);
    }
    int64_t slope = 400;
    for (int r = 0; r < rounds; r++)
        slope += step(points, int(slope), 1800) >> 32;
    std::printf("%lld\n", (long long)slope);
}
