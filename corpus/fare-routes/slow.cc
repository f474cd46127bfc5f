// Cheapest journeys through a network of fares, by rounds over all fares until none gets better.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Fare {
    uint32_t from, to;
    int32_t price, minutes;
};

enum class Event { Round, Compared, Improved };

class Listener {
public:
    virtual ~Listener() = default;
    virtual bool wants(Event event) const = 0;
    virtual void happened(Event event, const Fare *fare, int64_t cost) = 0;
};

// Counts the events of a set of kinds.
class Counter : public Listener {
public:
    explicit Counter(unsigned kinds) : kinds_(kinds) {}
    bool wants(Event event) const override { return kinds_ >> int(event) & 1; }
    void happened(Event event, const Fare *, int64_t) override { counts[int(event)]++; }
    uint64_t counts[3] = {0, 0, 0};

private:
    unsigned kinds_;
};

// Passes on what concerns one town.
class TownFilter : public Listener {
public:
    TownFilter(Listener &inner, uint32_t town) : inner_(inner), town_(town) {}
    bool wants(Event event) const override { return inner_.wants(event); }
    void happened(Event event, const Fare *fare, int64_t cost) override
    {
        if (!fare || fare->to == town_)
            inner_.happened(event, fare, cost);
    }

private:
    Listener &inner_;
    uint32_t town_;
};

class Planner {
public:
    Planner(uint32_t towns, std::vector<Fare> fares, Listener &listener)
        : towns_(towns), fares_(std::move(fares)), listener_(listener), cost_(towns), through_(towns)
    {
    }

    // What a minute is worth decides which journeys are cheap.
    void plan(uint32_t start, int64_t minute)
    {
        cost_.assign(towns_, Far);
        through_.assign(towns_, nullptr);
        cost_[start] = 0;
        int round = 0;
        while (sweep(minute)) {
            if (listener_.wants(Event::Round))
                listener_.happened(Event::Round, nullptr, ++round);
        }
    }

    uint64_t digest() const
    {
        uint64_t sum = 0;
        for (uint32_t t = 0; t < towns_; t++)
            sum = sum * 31 + uint64_t(cost_[t]) + (through_[t] ? through_[t]->from : 0);
        return sum;
    }

private:
    static constexpr int64_t Far = int64_t(1) << 60;

    bool sweep(int64_t minute)
    {
        bool better = false;
        for (const Fare &fare : fares_) {
            int64_t cost = cost_[fare.from] + fare.price + fare.minutes * minute;
            if (listener_.wants(Event::Compared))
                listener_.happened(Event::Compared, &fare, cost);
            if (cost < cost_[fare.to]) {
                cost_[fare.to] = cost;
                through_[fare.to] = &fare;
                better = true;
                if (listener_.wants(Event::Improved))
                    listener_.happened(Event::Improved, &fare, cost);
            }
        }
        return better;
    }

    uint32_t towns_;
    std::vector<Fare> fares_;
    Listener &listener_;
    std::vector<int64_t> cost_;
    std::vector<const Fare *> through_;
};

int main(int argc, char **argv)
{
    uint32_t towns = argc > 1 ? uint32_t(atoi(argv[1])) : 1000;
    int plans = argc > 2 ? atoi(argv[2]) : 10;
    std::vector<Fare> fares;
    uint32_t state = 29;
    for (uint32_t t = 0; t < towns; t++)
        for (int k = 0; k < 7; k++) {
            state = state * 1664525 + 1013904223;
            uint32_t near = (t + towns - 30 + (state >> 9) % 61) % towns;
            fares.push_back({t, near, int32_t(200 + (state >> 20)), int32_t(5 + (state >> 26))});
        }
    Counter counter(1u << int(Event::Round) | (argc > 3 ? 7u : 0u));
    TownFilter filter(counter, towns / 2);
    std::unique_ptr<Planner> planner = std::make_unique<Planner>(towns, fares, filter);
    uint64_t sum = 0;
    for (int p = 0; p < plans; p++) {
        planner->plan(uint32_t(p) * 97 % towns, p % 50);
        sum = sum * 31 + planner->digest();
    }
    printf("%llu rounds, %016llx\n", (unsigned long long)counter.counts[0], (unsigned long long)sum);
}
