// The narrow phase of a physics engine: which of the nearby pairs of balls touch, and how.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Vec {
    double x, y, z;
};

struct Ball {
    Vec at, speed;
    double radius, friction, bounce;
};

struct Contact {
    uint32_t a, b;
    Vec normal, point, tangent;
    double depth, friction, bounce, closing;
};

static double dot(const Vec &a, const Vec &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

class World {
public:
    explicit World(size_t count)
    {
        uint32_t state = 17;
        auto random = [&] { return double((state = state * 1664525 + 1013904223) >> 8) / (1 << 24); };
        for (size_t i = 0; i < count; i++)
            balls_.push_back({{random() * 8, random() * 8, double(i) * 0.05},
                              {random() - 0.5, random() - 0.5, random() - 0.5},
                              0.3 + 0.2 * random(), 0.1 + random(), random()});
    }

    // Contacts of this step, between balls whose numbers differ by at most `window`.
    double step(uint32_t window)
    {
        contacts_.clear();
        for (uint32_t i = 0; i < balls_.size(); i++)
            for (uint32_t j = i + 1; j < balls_.size() && j <= i + window; j++)
                collide(i, j);
        double impulse = 0;
        for (const Contact &c : contacts_)
            impulse += c.depth * c.bounce + c.closing * c.friction + dot(c.normal, c.point) + c.tangent.x;
        return impulse;
    }

    size_t contacts() const { return contacts_.size(); }

private:
    void collide(uint32_t i, uint32_t j)
    {
        const Ball &a = balls_[i], &b = balls_[j];
        Vec d{b.at.x - a.at.x, b.at.y - a.at.y, b.at.z - a.at.z};
        double reach = a.radius + b.radius;
        if (dot(d, d) >= reach * reach)
            return;
        Vec v{b.speed.x - a.speed.x, b.speed.y - a.speed.y, b.speed.z - a.speed.z};
        double distance = std::sqrt(dot(d, d));
        Contact c;
        c.a = i;
        c.b = j;
        c.normal = {d.x / distance, d.y / distance, d.z / distance};
        c.depth = a.radius + b.radius - distance;
        c.closing = dot(v, c.normal);
        c.tangent = {v.x - c.closing * c.normal.x, v.y - c.closing * c.normal.y, v.z - c.closing * c.normal.z};
        double slide = std::sqrt(dot(c.tangent, c.tangent)) + 1e-9;
        c.tangent = {c.tangent.x / slide, c.tangent.y / slide, c.tangent.z / slide};
        c.friction = std::sqrt(a.friction * b.friction);
        c.bounce = a.bounce > b.bounce ? a.bounce : b.bounce;
        c.point = {a.at.x + a.radius * c.normal.x, a.at.y + a.radius * c.normal.y, a.at.z + a.radius * c.normal.z};
        contacts_.push_back(c);
    }

    std::vector<Ball> balls_;
    std::vector<Contact> contacts_;
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int steps = argc > 2 ? std::atoi(argv[2]) : 10;
    World world(count);
    double impulse = 0;
    for (int s = 0; s < steps; s++)
        impulse += world.step(40 + uint32_t(s) % 2);
    std::printf("%zu contacts, %.6f\n", world.contacts(), impulse);
}
