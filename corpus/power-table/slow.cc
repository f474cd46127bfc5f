#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
struct Curve { double gamma, gain; };
static void develop(std::vector<double> &pixels, const Curve &c, double exposure) {
    for (double &p : pixels) p = p * std::pow(2.0, exposure) * c.gain + p * std::exp(-c.gamma);
}
int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 4000;
    std::vector<double> pixels(2000, 0.5);
    Curve c{1.0, 0.4};
    for (int i = 0; i < rounds; i++) {
        c.gamma = 0.7 + (i % 5) * 0.01;
        develop(pixels, c, -0.01 * (i % 7));
        if (i % 16 == 0) for (double &p : pixels) p = 0.5;
    }
    printf("%.9f\n", pixels[7]);
}
