// Steps a table of sliding crates: sorts by left edge, sweeps for pairs that touch, pushes them apart.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

template <class T> struct Point {
    T x, y;
    Point operator+(Point o) const { return {x + o.x, y + o.y}; }
    Point operator-(Point o) const { return {x - o.x, y - o.y}; }
    Point operator*(T f) const { return {x * f, y * f}; }
    T dot(Point o) const { return x * o.x + y * o.y; }
};

template <class T> struct Crate {
    Point<T> at, speed, side, up; // side and up: of length one
    T wide, tall;                 // half of the crate
    T left, right, low, high;
    uint32_t group, mask;
};

template <class T> struct Contact {
    Point<T> normal{}, points[4]{};
    T depth = 0;
    int count = 0;
};

template <class T> class Table {
public:
    std::vector<Crate<T>> crates;
    uint64_t pairs = 0, contacts = 0;

    void step(T dt)
    {
        for (auto &c : crates) {
            c.at = c.at + c.speed * dt;
            if (c.at.x < 0 || c.at.x > 100) c.speed.x = -c.speed.x;
            if (c.at.y < 0 || c.at.y > 100) c.speed.y = -c.speed.y;
            T across = std::abs(c.side.x) * c.wide + std::abs(c.up.x) * c.tall, along = std::abs(c.side.y) * c.wide + std::abs(c.up.y) * c.tall;
            c.left = c.at.x - across, c.right = c.at.x + across;
            c.low = c.at.y - along, c.high = c.at.y + along;
        }
        std::sort(crates.begin(), crates.end(), [](const auto &a, const auto &b) { return a.left < b.left; });
        sweep();
    }

private:
    static bool separate(const Crate<T> &a, const Crate<T> &b, Contact<T> &contact)
    {
        const Point<T> axes[4] = {a.side, a.up, b.side, b.up};
        Point<T> between = b.at - a.at;
        contact.depth = 1e9;
        for (const auto &axis : axes) {
            T reach = std::abs(axis.dot(a.side)) * a.wide + std::abs(axis.dot(a.up)) * a.tall + std::abs(axis.dot(b.side)) * b.wide +
                      std::abs(axis.dot(b.up)) * b.tall;
            T distance = axis.dot(between);
            T depth = reach - std::abs(distance);
            if (depth <= 0) return false;
            if (depth < contact.depth) {
                contact.depth = depth;
                contact.normal = distance < 0 ? axis * -1 : axis;
            }
        }
        return true;
    }

    static void gather(const Crate<T> &a, const Crate<T> &b, Contact<T> &contact)
    {
        const T signs[4][2] = {{1, 1}, {1, -1}, {-1, -1}, {-1, 1}};
        for (const auto &s : signs) {
            Point<T> corner = b.at + b.side * (s[0] * b.wide) + b.up * (s[1] * b.tall) - a.at;
            if (std::abs(corner.dot(a.side)) <= a.wide && std::abs(corner.dot(a.up)) <= a.tall)
                contact.points[contact.count++] = corner + a.at;
        }
    }

    void sweep()
    {
        for (size_t i = 0; i < crates.size(); i++)
            for (size_t k = i + 1; k < crates.size() && crates[k].left <= crates[i].right; k++) {
                Crate<T> &a = crates[i], &b = crates[k];
                if (a.high < b.low || b.high < a.low) continue;
                pairs++;
                if (!(a.mask & b.group) || !(b.mask & a.group)) continue;
                Contact<T> contact;
                if (!separate(a, b, contact)) continue;
                gather(a, b, contact);
                push(a, b, contact);
            }
    }

    void push(Crate<T> &a, Crate<T> &b, const Contact<T> &contact)
    {
        contacts += 1 + contact.count;
        T closing = (b.speed - a.speed).dot(contact.normal);
        if (closing < 0) {
            a.speed = a.speed + contact.normal * closing;
            b.speed = b.speed - contact.normal * closing;
        }
        for (int i = 0; i < contact.count; i++) a.at = a.at - (contact.points[i] - a.at) * T(0.0001);
    }
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1000;
    int steps = argc > 2 ? atoi(argv[2]) : 10;
    Table<float> table;
    uint32_t state = 99;
    auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
    for (size_t i = 0; i < count; i++) {
        Crate<float> c{};
        c.at = {float(random() % 10000) / 100, float(random() % 10000) / 100};
        c.speed = {float(random() % 200) / 100 - 1, float(random() % 200) / 100 - 1};
        float turn = float(random() % 628) / 100;
        c.wide = 0.6f + float(random() % 100) / 80;
        c.tall = 0.6f + float(random() % 100) / 160;
        c.side = {std::cos(turn), std::sin(turn)};
        c.up = {-std::sin(turn), std::cos(turn)};
        c.group = 1u << random() % 12;
        c.mask = c.group | 1;
        table.crates.push_back(c);
    }
    for (int s = 0; s < steps; s++) table.step(0.02f);
    double sum = 0;
    for (const auto &c : table.crates) sum += c.at.x * 3 + c.at.y;
    printf("%llu %llu %.4f\n", (unsigned long long)table.pairs, (unsigned long long)table.contacts, sum);
}
