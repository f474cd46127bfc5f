// A cellular world: particles wander between cells, each cell keeps a list of its own.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <vector>

struct Particle {
    float x, y;
    float mass;
    uint32_t born;
};

using Cell = std::list<Particle>;

class World {
public:
    World(size_t cells, size_t particles) : cells_(cells)
    {
        for (size_t i = 0; i < particles; i++)
            cells_[next() % cells].push_back({float(i % 100), float(i % 77), 1.0f + (i & 3), uint32_t(i)});
    }

    // Moves some particles to other cells, as they do all the time.
    void mix(size_t moves)
    {
        for (size_t i = 0; i < moves; i++) {
            Cell &from = cells_[next() % cells_.size()], &to = cells_[next() % cells_.size()];
            if (!from.empty() && &from != &to) {
                to.push_back(from.front());
                from.pop_front();
            }
        }
    }

    double mass(size_t cell) const
    {
        double sum = 0;
        for (const Particle &p : cells_[cell])
            sum += p.mass;
        return sum;
    }

    size_t cells() const { return cells_.size(); }

private:
    uint32_t next() { return (state_ = state_ * 1664525 + 1013904223) >> 8; }

    uint32_t state_ = 6;
    std::vector<Cell> cells_;
};

int main(int argc, char **argv)
{
    World world(64, argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000);
    int steps = argc > 2 ? std::atoi(argv[2]) : 10;
    double heaviest = 0, sum = 0;
    for (int s = 0; s < steps; s++) {
        world.mix(200);
        for (size_t c = 0; c < world.cells(); c++) {
            double mass = world.mass(c);
            sum += mass;
            heaviest = mass > heaviest ? mass : heaviest;
        }
    }
    std::printf("%.1f %.1f\n", heaviest, sum);
}
