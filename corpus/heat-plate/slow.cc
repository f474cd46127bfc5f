// Heat spreading over a plate with a few sources; every step keeps the state before it.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

class Plate {
public:
    explicit Plate(size_t side) : side_(side), now_(side * side, 20.0) {}

    // Only a band of rows is warm enough to change.
    void step(size_t first, size_t last)
    {
        before_ = now_;
        for (size_t y = first; y < last; y++)
            for (size_t x = 1; x + 1 < side_; x++) {
                const size_t i = y * side_ + x;
                now_[i] = before_[i] + 0.2 * (before_[i - 1] + before_[i + 1] + before_[i - side_] +
                                              before_[i + side_] - 4 * before_[i]);
            }
    }

    void heat(size_t x, size_t y, double to) { now_[y * side_ + x] = to; }

    double sum() const
    {
        double all = 0;
        for (double t : now_)
            all += t;
        return all;
    }

private:
    size_t side_;
    std::vector<double> now_, before_;
};

int main(int argc, char **argv)
{
    size_t side = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
    int steps = argc > 2 ? std::atoi(argv[2]) : 100;
    Plate plate(side);
    for (int s = 0; s < steps; s++) {
        plate.heat(side / 2 + size_t(s % 5), side / 2, 900.0);
        plate.step(side / 2 - 16, side / 2 + 16);
    }
    std::printf("%.6f\n", plate.sum());
}
