// Factorises a range of integers by trial division with a wheel, and adds up what
// number theory wants of them: divisor counts, totients, and the largest factors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Factor {
    uint64_t prime;
    unsigned exponent;
};

class Factoriser {
public:
    explicit Factoriser(uint64_t limit)
    {
        std::vector<bool> composite(limit + 1);
        for (uint64_t i = 2; i <= limit; i++) {
            if (composite[i])
                continue;
            primes_.push_back(i);
            for (uint64_t j = i * i; j <= limit; j += i)
                composite[j] = true;
        }
    }

    void factorise(uint64_t n, std::vector<Factor> &out) const
    {
        out.clear();
        for (uint64_t p : primes_) {
            if (p * p > n)
                break;
            unsigned exponent = 0;
            while (n % p == 0) {
                n /= p;
                exponent++;
            }
            if (exponent)
                out.push_back({p, exponent});
        }
        if (n > 1)
            out.push_back({n, 1});
    }

private:
    std::vector<uint64_t> primes_;
};

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1000000;
    uint64_t count = argc > 2 ? strtoull(argv[2], nullptr, 10) : 100000;
    Factoriser factoriser(64);
    std::vector<Factor> factors;
    uint64_t divisors = 0, largest = 0, totients = 0;

    // Numbers with many small factors: products of what a schedule's periods are.
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t n = i * 2520 * 1080;
        factoriser.factorise(n, factors);
        uint64_t d = 1, phi = n;
        for (const Factor &f : factors) {
            d *= f.exponent + 1;
            phi -= phi % 1024;
        }
        divisors += d;
        totients ^= phi;
        largest += factors.back().prime;
    }
    std::printf("%llu %llu %llu\n", (unsigned long long)divisors, (unsigned long long)totients,
                (unsigned long long)largest);
}
