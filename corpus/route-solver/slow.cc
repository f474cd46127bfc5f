// Solves a tour by 2-opt in a thread of its own, with a stack of its size; main waits for the result.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Stop {
    double x, y;
};

static double distance(const Stop &a, const Stop &b)
{
    return std::hypot(a.x - b.x, a.y - b.y);
}

/// Reverses stretches of the tour as long as that makes it shorter: each step starts from the last.
static double shorten(std::vector<Stop> &tour, int passes)
{
    double gained = 0;
    for (int pass = 0; pass < passes; pass++)
        for (size_t i = 1; i + 2 < tour.size(); i++)
            for (size_t j = i + 1; j + 1 < tour.size(); j++) {
                const double before = distance(tour[i - 1], tour[i]) + distance(tour[j], tour[j + 1]);
                const double after = distance(tour[i - 1], tour[j]) + distance(tour[i], tour[j + 1]);
                if (after + 1e-9 < before) {
                    gained += before - after;
                    for (size_t a = i, b = j; a < b; a++, b--)
                        std::swap(tour[a], tour[b]);
                }
            }
    return gained;
}

int main(int argc, char **argv)
{
    const int passes = argc > 1 ? std::atoi(argv[1]) : 4;
    std::vector<Stop> tour;
    uint32_t state = 31;
    for (int s = 0; s < 1500; s++) {
        state = state * 1664525 + 1013904223;
        tour.push_back({double(state >> 16 & 1023), double(state >> 6 & 1023)});
    }
    double gained = 0;
    std::thread solver([&] { gained = shorten(tour, passes); });
    solver.join();
    std::printf("%.6f\n", gained);
}
