// Reads pictures of digits with a small network: dense layers, thresholds, the best of ten.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

static uint32_t state = 31;

static float noise()
{
    state = state * 1664525 + 1013904223;
    return float(int32_t(state)) / 2147483648.0f;
}

class Layer {
public:
    virtual ~Layer() = default;
    virtual void forward(const std::vector<float> &in, std::vector<float> &out) const = 0;
};

class Dense : public Layer {
public:
    Dense(size_t inputs, size_t outputs, float bias) : weights_(inputs * outputs), biases_(outputs, bias)
    {
        for (float &w : weights_)
            w = noise();
    }

    void forward(const std::vector<float> &in, std::vector<float> &out) const override
    {
        size_t width = biases_.size();
        out = biases_;
        for (size_t i = 0; i < in.size(); i++) {
            float value = in[i];
            if (value == 0)
                continue;
            const float *row = &weights_[i * width];
            for (size_t o = 0; o < width; o++)
                out[o] += value * row[o];
        }
    }

private:
    std::vector<float> weights_, biases_; // a row of weights for each input
};

class Threshold : public Layer {
public:
    void forward(const std::vector<float> &in, std::vector<float> &out) const override
    {
        out.resize(in.size());
        for (size_t i = 0; i < in.size(); i++)
            out[i] = in[i] > 0 ? in[i] : 0;
    }
};

// To mean 0 and spread 1 over the layer, then down by `shift`.
class Normalise : public Layer {
public:
    explicit Normalise(float shift) : shift_(shift) {}
    void forward(const std::vector<float> &in, std::vector<float> &out) const override
    {
        float mean = 0, spread = 0;
        for (float v : in)
            mean += v;
        mean /= float(in.size());
        for (float v : in)
            spread += (v - mean) * (v - mean);
        spread = std::sqrt(spread / float(in.size())) + 1e-6f;
        out.resize(in.size());
        for (size_t i = 0; i < in.size(); i++)
            out[i] = (in[i] - mean) / spread - shift_;
    }

private:
    float shift_;
};

class Network {
public:
    std::vector<std::unique_ptr<Layer>> layers;

    int read(const std::vector<float> &picture)
    {
        now_ = picture;
        for (const auto &layer : layers) {
            layer->forward(now_, next_);
            now_.swap(next_);
        }
        return int(std::max_element(now_.begin(), now_.end()) - now_.begin());
    }

private:
    std::vector<float> now_, next_;
};

// Contrast and grain of the scanner.
static void prepare(std::vector<float> &picture, const std::vector<uint8_t> &scan)
{
    for (size_t i = 0; i < scan.size(); i++) {
        float around = float(scan[i]);
        if (i > 0 && i + 1 < scan.size())
            around = 0.5f * around + 0.25f * float(scan[i - 1] + scan[i + 1]);
        picture[i] = around < 40 ? 0 : (around - 40) / 215.0f;
    }
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 100;
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    const size_t side = 28;
    Network net;
    size_t sizes[] = {side * side, 64, 64, 10};
    for (int l = 0; l < 3; l++) {
        net.layers.push_back(std::make_unique<Dense>(sizes[l], sizes[l + 1], 0.1f));
        if (l < 2) {
            net.layers.push_back(std::make_unique<Normalise>(0.9f));
            net.layers.push_back(std::make_unique<Threshold>());
        }
    }
    std::vector<std::vector<uint8_t>> scans(count, std::vector<uint8_t>(side * side));
    for (auto &scan : scans)
        for (int stroke = 0; stroke < 2; stroke++) {
            size_t x = 8 + size_t(noise() * 6 + 6), y = 7;
            for (int k = 0; k < 14; k++, y++) {
                scan[y * side + x] = 255;
                scan[y * side + x + 1] = 120;
                x = noise() > 0.5f && x < 25 ? x + 1 : x;
            }
        }
    std::vector<float> picture(side * side);
    uint64_t sum = 0;
    for (int r = 0; r < rounds; r++)
        for (const auto &scan : scans) {
            prepare(picture, scan);
            sum = sum * 31 + uint64_t(net.read(picture));
        }
    printf("%016llx\n", (unsigned long long)sum);
}
