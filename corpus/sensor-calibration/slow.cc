// Calibrates raw readings of a sensor array: offset and gain of each channel.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

class Calibration {
public:
    explicit Calibration(size_t channels) : offset_(channels), gain_(channels)
    {
        for (size_t i = 0; i < channels; i++) {
            offset_[i] = float(i % 17) * 0.25f - 2.0f;
            gain_[i] = 1.0f + float(i % 5) * 0.01f;
        }
    }

    void apply(const std::vector<float> &raw, std::vector<float> &out) const
    {
        for (size_t i = 0; i < raw.size(); i++)
            out[i] = (raw[i] - offset_[i]) * gain_[i];
    }

private:
    std::vector<float> offset_, gain_;
};

int main(int argc, char **argv)
{
    size_t channels = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2048;
    int frames = argc > 2 ? std::atoi(argv[2]) : 1000;
    Calibration calibration(channels);
    std::vector<float> raw(channels), out(channels);
    uint32_t state = 1;
    for (float &r : raw)
        r = float((state = state * 1664525 + 1013904223) >> 20);
    double digest = 0;
    for (int f = 0; f < frames; f++) {
        raw[size_t(f) % channels] += 1.0f;
        calibration.apply(raw, out);
        digest += out[size_t(f * 31) % channels];
    }
    std::printf("%.3f\n", digest);
}
