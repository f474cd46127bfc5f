// Simulates the decay of isotopes in many samples, step by step.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Isotope {
    double half_life;
    double energy;
};

class Sample {
public:
    Sample(size_t cells, double amount) : amount_(cells, amount) {}

    // One step: what decays, in energy.
    double step(const Isotope &isotope, double dt)
    {
        double released = 0;
        const double stays = std::exp(-M_LN2 * dt / isotope.half_life);
        for (double &amount : amount_) {
            double left = amount * stays;
            released += (amount - left) * isotope.energy;
            amount = left;
        }
        return released;
    }

    void feed(size_t cell, double amount) { amount_[cell % amount_.size()] += amount; }

private:
    std::vector<double> amount_;
};

int main(int argc, char **argv)
{
    size_t cells = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int steps = argc > 2 ? std::atoi(argv[2]) : 100;
    const Isotope isotopes[] = {{8.02, 0.606}, {30.1, 0.514}, {5.27, 1.332}};
    std::vector<Sample> samples(3, Sample(cells, 1.0));
    double energy = 0;
    for (int s = 0; s < steps; s++)
        for (size_t i = 0; i < samples.size(); i++) {
            samples[i].feed(size_t(s) * 31, 0.01);
            energy += samples[i].step(isotopes[i], 0.001 * (1 + s % 7));
        }
    std::printf("%.9f\n", energy);
}
