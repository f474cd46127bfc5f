// couriers: gives each order of a day to the courier who can be there first.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Rng {
    uint64_t s;
    uint32_t next() {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<uint32_t>(s >> 33);
    }
    double unit() { return next() / 2147483648.0; }
};

struct Position {
    double lat, lon;
};

struct Order {
    Position pickup, dropoff;
    double placed;      // minutes since midnight
    int litres;
    bool chilled;
};

struct Courier {
    Position at;
    double free_at = 0;
    double shift_start = 0, shift_end = 0;
    int litres = 0;
    bool cool_box = false;
    double metres_per_minute = 250;
    int delivered = 0;
    double travelled = 0;
};

constexpr double kSouth = 52.35, kNorth = 52.65, kWest = 13.10, kEast = 13.70;
constexpr int kRows = 20, kColumns = 24;

double radians(double degrees) { return degrees * (M_PI / 180.0); }

// Great-circle distance in metres.
double distance(const Position &a, const Position &b) {
    double dlat = radians(b.lat - a.lat), dlon = radians(b.lon - a.lon);
    double h = std::sin(dlat / 2) * std::sin(dlat / 2) +
               std::cos(radians(a.lat)) * std::cos(radians(b.lat)) * std::sin(dlon / 2) * std::sin(dlon / 2);
    return 2 * 6371000.0 * std::asin(std::sqrt(h));
}

class District {
public:
    static int cell(const Position &p) {
        int row = static_cast<int>((p.lat - kSouth) / (kNorth - kSouth) * kRows);
        int column = static_cast<int>((p.lon - kWest) / (kEast - kWest) * kColumns);
        row = std::clamp(row, 0, kRows - 1);
        column = std::clamp(column, 0, kColumns - 1);
        return row * kColumns + column;
    }

    void add(int courier, const Position &p) { cells_[cell(p)].push_back(courier); }

    void move(int courier, const Position &from, const Position &to) {
        int old_cell = cell(from), new_cell = cell(to);
        if (old_cell == new_cell)
            return;
        std::vector<int> &list = cells_[old_cell];
        auto it = std::find(list.begin(), list.end(), courier);
        *it = list.back();
        list.pop_back();
        cells_[new_cell].push_back(courier);
    }

    // Calls visit(courier) for those in the cells up to `reach` around p.
    template <class Visit> void around(const Position &p, int reach, Visit visit) const {
        int here = cell(p), row = here / kColumns, column = here % kColumns;
        for (int r = std::max(0, row - reach); r <= std::min(kRows - 1, row + reach); r++)
            for (int c = std::max(0, column - reach); c <= std::min(kColumns - 1, column + reach); c++)
                for (int courier : cells_[r * kColumns + c])
                    visit(courier);
    }

private:
    std::vector<int> cells_[kRows * kColumns];
};

bool can_take(const Courier &c, const Order &o) {
    if (c.free_at > o.placed)
        return false;
    if (o.placed < c.shift_start || o.placed > c.shift_end)
        return false;
    if (c.litres < o.litres)
        return false;
    return !o.chilled || c.cool_box;
}

class Dispatcher {
public:
    Dispatcher(std::vector<Courier> couriers) : couriers_(std::move(couriers)) {
        for (size_t i = 0; i < couriers_.size(); i++)
            district_.add(static_cast<int>(i), couriers_[i].at);
    }

    int choose(const Order &order) const {
        int best = -1;
        double best_minutes = 25;
        for (int reach = 1; reach <= 3 && best < 0; reach++) {
            district_.around(order.pickup, reach, [&](int i) {
                const Courier &c = couriers_[i];
                double minutes = distance(c.at, order.pickup) / c.metres_per_minute;
                minutes += fatigue(c, order.placed);
                if (!can_take(c, order))
                    return;
                if (minutes < best_minutes || (minutes == best_minutes && i < best)) {
                    best_minutes = minutes;
                    best = i;
                }
            });
        }
        return best;
    }

    void assign(const Order &order) {
        int i = choose(order);
        if (i < 0) {
            refused_++;
            return;
        }
        Courier &c = couriers_[i];
        double metres = distance(c.at, order.pickup) + distance(order.pickup, order.dropoff);
        double minutes = metres / c.metres_per_minute + 4 + order.litres * 0.05;
        waited_ += distance(c.at, order.pickup) / c.metres_per_minute;
        district_.move(i, c.at, order.dropoff);
        c.at = order.dropoff;
        c.free_at = order.placed + minutes;
        c.travelled += metres;
        c.delivered++;
        delivered_++;
    }

    void report() const {
        double travelled = 0;
        int busiest = 0;
        for (const Courier &c : couriers_) {
            travelled += c.travelled;
            busiest = std::max(busiest, c.delivered);
        }
        std::printf("delivered %d, refused %d, mean wait %.3f min, %.1f km, busiest %d\n", delivered_, refused_,
                    waited_ / delivered_, travelled / 1000, busiest);
    }

private:
    // Couriers who have ridden long today are given a little less.
    static double fatigue(const Courier &c, double now) {
        double hours = (now - c.shift_start) / 60;
        return hours > 4 ? (hours - 4) * 0.3 + c.travelled * 1e-6 : c.travelled * 1e-6;
    }

    std::vector<Courier> couriers_;
    District district_;
    int delivered_ = 0, refused_ = 0;
    double waited_ = 0;
};

Position somewhere(Rng &rng) {
    // denser towards the middle
    double a = (rng.unit() + rng.unit()) / 2, b = (rng.unit() + rng.unit()) / 2;
    return {kSouth + a * (kNorth - kSouth), kWest + b * (kEast - kWest)};
}

std::vector<Courier> hire(Rng &rng, int count) {
    std::vector<Courier> couriers(count);
    for (Courier &c : couriers) {
        c.at = somewhere(rng);
        c.shift_start = 60.0 * (rng.next() % 14);
        c.shift_end = c.shift_start + 360 + 30 * (rng.next() % 7);
        c.litres = 20 + 20 * static_cast<int>(rng.next() % 4);
        c.cool_box = rng.next() % 3 == 0;
        c.metres_per_minute = 180 + rng.next() % 150;
    }
    return couriers;
}

std::vector<Order> take_orders(Rng &rng, int count) {
    std::vector<Order> orders(count);
    for (Order &o : orders) {
        o.pickup = somewhere(rng);
        double d = 0.02;
        o.dropoff = {o.pickup.lat + (rng.unit() - 0.5) * d, o.pickup.lon + (rng.unit() - 0.5) * d * 1.6};
        o.placed = 300 + rng.unit() * 1000;
        o.litres = 5 + rng.next() % 35;
        o.chilled = rng.next() % 4 == 0;
    }
    std::sort(orders.begin(), orders.end(), [](const Order &a, const Order &b) { return a.placed < b.placed; });
    return orders;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? std::atoi(argv[1]) : 110000;
    Rng rng{4711};
    Dispatcher dispatcher(hire(rng, 4200));
    for (const Order &order : take_orders(rng, count))
        dispatcher.assign(order);
    dispatcher.report();
    return 0;
}
