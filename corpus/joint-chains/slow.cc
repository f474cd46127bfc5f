// Adds up the motions of a skeleton's joints: each a small vector of its degrees of freedom.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Joint {
    int freedoms;
    float *position, *speed, *force;
    float damping;
};

class Skeleton {
public:
    explicit Skeleton(size_t joints)
    {
        state_.resize(joints * 9);
        for (size_t i = 0; i < state_.size(); i++)
            state_[i] = float(i % 23) * 0.01f;
        float *at = state_.data();
        for (size_t j = 0; j < joints; j++) {
            int freedoms = 1 + int(j * 5 / 3 % 3);
            joints_.push_back({freedoms, at, at + freedoms, at + 2 * freedoms, 0.9f + float(j % 7) * 0.01f});
            at += 3 * freedoms;
        }
    }

    void step(float dt)
    {
        for (Joint &joint : joints_)
            advance(joint, dt);
    }

    double energy() const
    {
        double sum = 0;
        for (float value : state_)
            sum += double(value) * double(value);
        return sum;
    }

private:
    static void advance(Joint &joint, float dt)
    {
        float *position = joint.position, *speed = joint.speed, *force = joint.force;
        for (int i = 0; i < joint.freedoms; i++) {
            speed[i] = (speed[i] + force[i] * dt) * joint.damping;
            position[i] += speed[i] * dt;
            force[i] = -0.5f * position[i];
        }
    }

    std::vector<float> state_;
    std::vector<Joint> joints_;
};

int main(int argc, char **argv)
{
    Skeleton skeleton(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100);
    int steps = argc > 2 ? std::atoi(argv[2]) : 10;
    double energy = 0;
    for (int s = 0; s < steps; s++) {
        skeleton.step(0.01f);
        if (s % 64 == 0)
            energy += skeleton.energy();
    }
    std::printf("%.9g\n", energy);
}
