// Plays the animation of a skeleton: samples each channel per frame and adds up the poses.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Key {
    float time, value;
    int32_t bend; // 0 smooth, 1 straight, 2 hold
};

class Channel {
public:
    virtual ~Channel() = default;
    virtual float sample(float time) = 0;
};

class Constant final : public Channel {
public:
    explicit Constant(float value) : value(value) {}
    float sample(float) override { return value; }

private:
    float value;
};

class Curve final : public Channel {
public:
    explicit Curve(std::vector<Key> given) : keys(std::move(given)) {}

    float sample(float time) override
    {
        if (!(time >= from && time < to)) {
            size_t low = 0, high = keys.size() - 1;
            if (seeks++ && time >= to && at + 2 < keys.size() && time < keys[at + 2].time) {
                low = at + 1;
            } else {
                while (low + 1 < high) {
                    size_t middle = (low + high) / 2;
                    (keys[middle].time <= time ? low : high) = middle;
                }
            }
            at = low;
            float slopes[4];
            for (size_t k = 0; k < 4; k++) {
                size_t left = low + k < 2 ? 0 : low + k - 2, right = left + 2 < keys.size() ? left + 2 : keys.size() - 1;
                const Key &p = keys[left], &q = keys[right];
                float tension = p.bend == q.bend ? 1.0f : 0.5f;
                slopes[k] = std::tanh((q.value - p.value) / (q.time - p.time + 0.001f)) * tension;
                steepest = std::fmax(steepest, std::hypot(slopes[k], tension));
            }
            const Key &a = keys[low], &b = keys[low + 1];
            float span = b.time - a.time;
            float slope_in = (slopes[0] + 2 * slopes[1]) / 3 * span, slope_out = (2 * slopes[2] + slopes[3]) / 3 * span;
            if (a.bend == 1) slope_in = slope_out = b.value - a.value;
            constant = a.value;
            linear = slope_in;
            square = 3 * (b.value - a.value) - 2 * slope_in - slope_out;
            cube = 2 * (a.value - b.value) + slope_in + slope_out;
            if (a.bend == 2) linear = square = cube = 0;
            from = a.time;
            to = b.time;
            scale = 1 / span;
        }
        float x = (time - from) * scale;
        return ((cube * x + square) * x + linear) * x + constant;
    }

private:
    std::vector<Key> keys;
    size_t at = 0, seeks = 0;
    float from = 1, to = 0, scale = 0, constant = 0, linear = 0, square = 0, cube = 0, steepest = 0;
};

struct Bone {
    std::unique_ptr<Channel> channels[6];
    int parent;
};

struct Pose {
    float place[3], turn[3];
};

class Player {
public:
    std::vector<Bone> bones;
    std::vector<Pose> poses;

    void frame(float time)
    {
        for (size_t i = 0; i < bones.size(); i++) {
            Bone &bone = bones[i];
            Pose &pose = poses[i];
            const Pose &base = poses[size_t(bone.parent)];
            for (int k = 0; k < 3; k++) {
                pose.place[k] = bone.channels[k]->sample(time) + base.place[k] * 0.5f;
                pose.turn[k] = bone.channels[k + 3]->sample(time) + base.turn[k] * 0.25f;
            }
        }
    }
};

int main(int argc, char **argv)
{
    int bones = argc > 1 ? atoi(argv[1]) : 20, frames = argc > 2 ? atoi(argv[2]) : 100;
    Player player;
    uint32_t state = 13;
    auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
    for (int b = 0; b < bones; b++) {
        Bone bone;
        bone.parent = b ? int(random() % uint32_t(b)) : 0;
        for (auto &channel : bone.channels) {
            if (random() % 8 == 0) {
                channel = std::make_unique<Constant>(float(random() % 100) / 50);
                continue;
            }
            std::vector<Key> keys;
            float time = 0;
            for (int k = 0; k < 40; k++) {
                keys.push_back({time, float(random() % 1000) / 500 - 1, int32_t(random() % 16 < 2 ? random() % 3 : 0)});
                time += 0.5f + float(random() % 100) / 60;
            }
            channel = std::make_unique<Curve>(std::move(keys));
        }
        player.bones.push_back(std::move(bone));
    }
    player.poses.resize(size_t(bones));
    double sum = 0;
    for (int f = 0; f < frames; f++) {
        player.frame(float(f % 3000) / 120);
        const Pose &last = player.poses[size_t(f) % player.poses.size()];
        sum += last.place[0] + 2 * last.place[1] + 3 * last.turn[2];
    }
    printf("%.6f\n", sum);
}
