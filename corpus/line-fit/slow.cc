// Root mean square error of a calibration line over measured points.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Point {
    double x, y;
};

class Fit {
public:
    explicit Fit(double slope) : slope_(slope) {}

    // Error of the straight line over all points.
    double error(const std::vector<Point> &points) const
    {
        double sum = 0;
        for (const Point &p : points) {
            double off = p.y - slope_ * p.x;
            sum += off * off;
        }
        return std::sqrt(sum / double(points.size()));
    }

private:
    double slope_;
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2000;
    int tries = argc > 2 ? std::atoi(argv[2]) : 1000;
    std::vector<Point> points(count);
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        points[i] = {double(i) / 16, double(i) / 8 + double(state >> 24) / 128 - 1};
    }
    double best = 1e30, best_slope = 0;
    for (int t = 0; t < tries; t++) {
        double slope = 1.5 + double(t) / tries;
        double error = Fit(slope).error(points);
        if (error < best) {
            best = error;
            best_slope = slope;
        }
    }
    std::printf("%.9f at %.6f\n", best, best_slope);
}
