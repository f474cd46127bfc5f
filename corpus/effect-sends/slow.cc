// An audio mixer: tracks are sent to effect buses through a smoothing gain and a tilt filter.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr size_t BLOCK = 64;

struct Send {
    float gain;    // wanted level; 0 for nearly all pairs of track and bus
    float current; // level that the ramp has reached
    float low;     // state of the tilt filter
};

class Mixer {
public:
    Mixer(size_t tracks, size_t buses)
        : tracks_(tracks), buses_(buses), sends_(tracks * buses), mix_(buses * BLOCK)
    {
        for (size_t t = 0; t < tracks; t++)
            for (size_t b = 0; b < buses; b++)
                sends_[t * buses + b] = {(t + b) % buses == 0 ? 0.25f + 0.05f * float(b) : 0.0f, 0.0f, 0.0f};
    }

    void process(const std::vector<float> &input)
    {
        for (float &sample : mix_)
            sample = 0.0f;
        for (size_t t = 0; t < tracks_; t++)
            for (size_t b = 0; b < buses_; b++)
                send(sends_[t * buses_ + b], &input[t * BLOCK], &mix_[b * BLOCK]);
    }

    double level() const
    {
        double sum = 0;
        for (float sample : mix_)
            sum += double(sample) * double(sample);
        return sum;
    }

private:
    static void send(Send &s, const float *from, float *to)
    {
        const float step = (s.gain - s.current) / float(BLOCK);
        float level = s.current, low = s.low;
        for (size_t i = 0; i < BLOCK; i++) {
            level += step;
            float wet = from[i] * level;
            low += 0.2f * (wet - low);
            to[i] += wet + 0.5f * low;
        }
        s.current = s.gain;
        s.low = low;
    }

    size_t tracks_, buses_;
    std::vector<Send> sends_;
    std::vector<float> mix_;
};

int main(int argc, char **argv)
{
    size_t tracks = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 48;
    int blocks = argc > 2 ? std::atoi(argv[2]) : 100;
    Mixer mixer(tracks, 12);
    std::vector<float> input(tracks * BLOCK);
    uint32_t state = 19;
    double level = 0;
    for (int n = 0; n < blocks; n++) {
        for (float &sample : input)
            sample = float(int32_t(state = state * 1664525 + 1013904223)) * 0x1p-31f;
        mixer.process(input);
        level += mixer.level();
    }
    std::printf("%.6g\n", level);
}
