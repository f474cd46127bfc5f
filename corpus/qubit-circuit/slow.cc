// Simulates a circuit of quantum gates on a register's amplitudes.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <typename Real>
struct Complex {
    Real re = 0, im = 0;

    Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    Real norm() const { return re * re + im * im; }
};

template <typename Real>
struct Gate {
    int target, control; // control -1: none
    Complex<Real> m00, m01, m10, m11;
};

template <typename Real>
class Register {
public:
    explicit Register(int qubits) : qubits_(qubits), amplitudes_(size_t(1) << qubits) { amplitudes_[0].re = 1; }

    void apply(const Gate<Real> &gate)
    {
        size_t bit = size_t(1) << gate.target;
        size_t need = gate.control < 0 ? 0 : size_t(1) << gate.control;
        for (size_t base = 0; base < amplitudes_.size(); base += 2 * bit)
            for (size_t i = base; i < base + bit; i++) {
                if ((i & need) != need)
                    continue;
                Complex<Real> zero = amplitudes_[i], one = amplitudes_[i + bit];
                amplitudes_[i] = gate.m00 * zero + gate.m01 * one;
                amplitudes_[i + bit] = gate.m10 * zero + gate.m11 * one;
            }
    }

    // The chance of each qubit to be read as one.
    std::vector<Real> chances() const
    {
        std::vector<Real> out(size_t(qubits_), Real(0));
        for (size_t i = 0; i < amplitudes_.size(); i++) {
            Real norm = amplitudes_[i].norm();
            for (int q = 0; q < qubits_; q++)
                if (i >> q & 1)
                    out[size_t(q)] += norm;
        }
        return out;
    }

private:
    int qubits_;
    std::vector<Complex<Real>> amplitudes_;
};

template <typename Real>
static Gate<Real> hadamard(int target)
{
    Real h = std::sqrt(Real(0.5));
    return {target, -1, {h, 0}, {h, 0}, {h, 0}, {-h, 0}};
}

template <typename Real>
static Gate<Real> phase(int target, int control, Real angle)
{
    return {target, control, {1, 0}, {0, 0}, {0, 0}, {std::cos(angle), std::sin(angle)}};
}

// A Fourier transform, with an oracle's rounds of couplings before it.
template <typename Real>
static std::vector<Gate<Real>> circuit(int qubits, int run)
{
    std::vector<Gate<Real>> gates;
    const Real pi = Real(3.141592653589793);
    for (int q = 0; q < qubits; q++)
        gates.push_back(hadamard<Real>(q));
    for (int round = 0; round < 3; round++)
        for (int q = 0; q < qubits; q++) {
            gates.push_back(phase<Real>(q, -1, pi * Real(run * 37 % 101) / Real(1 << q)));
            for (int k = 0; k < q; k++)
                gates.push_back(phase<Real>(q, k, pi * Real((q + k) % 5) / Real(7 + round)));
        }
    for (int q = qubits - 1; q >= 0; q--) {
        gates.push_back(hadamard<Real>(q));
        for (int k = q - 1; k >= 0; k--)
            gates.push_back(phase<Real>(q, k, pi / Real(1 << (q - k))));
    }
    return gates;
}

int main(int argc, char **argv)
{
    int qubits = argc > 1 ? atoi(argv[1]) : 10;
    int runs = argc > 2 ? atoi(argv[2]) : 10;
    double sum = 0;
    for (int r = 0; r < runs; r++) {
        Register<double> qubitsOfRun(qubits);
        for (const auto &gate : circuit<double>(qubits, r))
            qubitsOfRun.apply(gate);
        std::vector<double> chances = qubitsOfRun.chances();
        for (int q = 0; q < qubits; q++)
            sum += chances[size_t(q)] * (q + 1);
    }
    printf("%.9f\n", sum);
}
