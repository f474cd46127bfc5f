// Saves the state of a simulation as text from which the very same doubles can be read again.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static size_t save(const std::vector<double> &state, std::vector<char> &text)
{
    size_t used = 0;
    for (double value : state)
        used += size_t(std::snprintf(text.data() + used, text.size() - used, "%.17g\n", value));
    return used;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int steps = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<double> state(count);
    for (size_t i = 0; i < count; i++)
        state[i] = std::sin(double(i)) * std::exp(double(i % 40) - 20);
    std::vector<char> text(count * 32);
    uint64_t sum = 0;
    for (int s = 0; s < steps; s++) {
        for (size_t i = 1; i < count; i++)
            state[i] += 1e-3 * (state[i - 1] - state[i]);
        size_t used = save(state, text);
        sum = sum * 31 + (used > 0);
        // Some are read again, which gives the very same values.
        const char *at = text.data();
        for (size_t i = 0; i < count; i += 400) {
            char *end;
            double value = std::strtod(at, &end);
            uint64_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            sum = sum * 31 + bits;
            for (int lines = 0; lines < 400 && at < text.data() + used; at++)
                lines += *at == '\n';
        }
    }
    std::printf("%016llx\n", (unsigned long long)sum);
}
