// The Lennard-Jones energy of points in a plane.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Point {
    double x, y;
};

static double energy(const std::vector<Point> &points)
{
    double sum = 0;
    for (size_t i = 0; i < points.size(); i++)
        for (size_t j = 0; j < i; j++) {
            double dx = points[i].x - points[j].x, dy = points[i].y - points[j].y;
            double r = std::sqrt(dx * dx + dy * dy + 0.01);
            sum += std::pow(1 / r, 12) - std::pow(1 / r, 6);
        }
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    std::vector<Point> points(1500);
    unsigned state = 25;
    auto random = [&state] { return ((state = state * 1103515245 + 12345) >> 8) / 1e6; };
    for (Point &point : points)
        point = {random(), random()};
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
        points[round].x += 0.01;
        sum += energy(points);
    }
    printf("%.6g\n", sum);
}
