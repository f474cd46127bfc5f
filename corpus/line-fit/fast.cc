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
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        const Point *p = points.data(), *end = p + points.size();
        for (; end - p >= 4; p += 4) {
            double off0 = p[0].y - slope_ * p[0].x, off1 = p[1].y - slope_ * p[1].x;
            double off2 = p[2].y - slope_ * p[2].x, off3 = p[3].y - slope_ * p[3].x;
            s0 += off0 * off0;
            s1 += off1 * off1;
            s2 += off2 * off2;
            s3 += off3 * off3;
        }
        double sum = (s0 + s1) + (s2 + s3);
        for (; p < end; p++) {
            double off = p->y - slope_ * p->x;
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
