// Moves the vehicles of a city's ring roads by one step after the other.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

struct Lane {
    float length, limit, slope;
};

struct Route {
    uint16_t stop[48];
};

class Vehicle {
public:
    Vehicle(uint32_t number, float speed) : number(number), speed(speed) { std::snprintf(plate, sizeof plate, "AB-%06u", number); }
    virtual ~Vehicle() = default;
    virtual void step(const std::vector<Lane> &lanes, float seconds) = 0;
    float where() const { return position; }
    float left() const { return fuel; }
    uint32_t laps() const { return rounds; }

protected:
    void advance(const Lane &lane, float wanted, float seconds)
    {
        speed += (std::min(wanted, lane.limit) - speed) * 0.25f * seconds;
        position += speed * seconds;
        if (position >= lane.length) {
            position -= lane.length;
            rounds++;
        }
        fuel -= speed * lane.slope;
    }

    uint32_t number, rounds = 0;
    float speed, position = 0, fuel = 500;
    uint16_t lane_index = 0;
    char plate[16], owner[64] = {};
    Route planned{};
    uint8_t colour[4] = {}, insurance[40] = {};
    uint32_t events[12] = {};
    char workshop[64] = {};
};

class Car : public Vehicle {
public:
    Car(uint32_t number, uint32_t lane) : Vehicle(number, 12) { lane_index = static_cast<uint16_t>(lane); }
    void step(const std::vector<Lane> &lanes, float seconds) override { advance(lanes[lane_index], 16, seconds); }

private:
    char driver[40] = {};
};

class Bus : public Vehicle {
public:
    Bus(uint32_t number, uint32_t lane) : Vehicle(number, 8) { lane_index = static_cast<uint16_t>(lane); }
    void step(const std::vector<Lane> &lanes, float seconds) override { advance(lanes[lane_index], 11, seconds); }

private:
    char line_name[24] = {};
};

uint32_t state = 13;

uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000;
    int steps = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<Lane> lanes;
    for (int i = 0; i < 32; i++)
        lanes.push_back({80.0f + 5 * static_cast<float>(i), 9.0f + static_cast<float>(i % 5), 0.001f * static_cast<float>(1 + i % 3)});
    std::vector<std::unique_ptr<Vehicle>> fleet;
    for (size_t i = 0; i < count; i++) {
        uint32_t lane = random_below(32);
        if (i % 64 == 0)
            fleet.push_back(std::make_unique<Bus>(static_cast<uint32_t>(i), lane));
        else
            fleet.push_back(std::make_unique<Car>(static_cast<uint32_t>(i), lane));
    }
    for (size_t i = count; i > 1; i--)
        std::swap(fleet[i - 1], fleet[random_below(static_cast<uint32_t>(i))]);
    for (int s = 0; s < steps; s++)
        for (auto &vehicle : fleet)
            vehicle->step(lanes, 0.5f);
    double sum = 0;
    uint64_t laps = 0;
    for (auto &vehicle : fleet) {
        sum += vehicle->where() + vehicle->left();
        laps += vehicle->laps();
    }
    std::printf("%llu laps, %.4f\n", static_cast<unsigned long long>(laps), sum);
}
