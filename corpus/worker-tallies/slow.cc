// Classifies measurements with several threads; each worker keeps its own tallies.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Tally {
    uint64_t low = 0;
    uint64_t middle = 0;
    uint64_t high = 0;
};

class Workers {
public:
    Workers(size_t threads, const std::vector<uint16_t> &data) : tallies_(threads), data_(data) {}

    void run(int rounds)
    {
        std::vector<std::thread> threads;
        for (size_t t = 0; t < tallies_.size(); t++)
            threads.emplace_back([=] { work(t, rounds); });
        for (std::thread &thread : threads)
            thread.join();
    }

    Tally sum() const
    {
        Tally all;
        for (const Tally &t : tallies_) {
            all.low += t.low;
            all.middle += t.middle;
            all.high += t.high;
        }
        return all;
    }

private:
    void work(size_t number, int rounds)
    {
        Tally &tally = tallies_[number];
        size_t share = data_.size() / tallies_.size();
        for (int r = 0; r < rounds; r++)
            for (size_t i = number * share; i < (number + 1) * share; i++) {
                if (data_[i] < 1000)
                    tally.low++;
                else if (data_[i] < 60000)
                    tally.middle++;
                else
                    tally.high++;
            }
    }

    std::vector<Tally> tallies_;
    const std::vector<uint16_t> &data_;
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    std::vector<uint16_t> data(1 << 16);
    for (size_t i = 0; i < data.size(); i++)
        data[i] = uint16_t(i % 64 == 0 ? i % 1000 : i % 64 < 48 ? 1000 + i % 50000 : 60000 + i % 5000);
    Workers workers(2, data);
    workers.run(rounds);
    Tally all = workers.sum();
    std::printf("%llu %llu %llu\n", (unsigned long long)all.low, (unsigned long long)all.middle,
                (unsigned long long)all.high);
}
