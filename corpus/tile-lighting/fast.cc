// Lights the tiles of a top-down map: each tile shows a material under a low sun.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Material {
    float gloss, roughness, tint;
};

struct Sun {
    float height;
    float strength;
};

class Renderer {
public:
    Renderer(size_t width, size_t height) : width_(width), image_(width * height) {}

    void draw(const std::vector<uint8_t> &tiles, const std::vector<Material> &materials, const Sun &sun)
    {
        std::vector<float> shines;
        for (const Material &m : materials)
            shines.push_back(shine(m, sun));
        for (size_t i = 0; i < tiles.size(); i++)
            image_[i] += shines[tiles[i]] * float(1 + (i & 3));
    }

    double brightness() const
    {
        double sum = 0;
        for (float pixel : image_)
            sum += double(pixel);
        return sum / double(image_.size());
    }

private:
    // Light that a rough surface sends to an eye straight above it.
    static float shine(const Material &m, const Sun &sun)
    {
        float lobe = std::pow(sun.height, m.gloss);
        float shadow = 1.0f / (1.0f + m.roughness * std::tan(1.5f - sun.height));
        return sun.strength * (m.tint + lobe) * shadow;
    }

    size_t width_;
    std::vector<float> image_;
};

int main(int argc, char **argv)
{
    size_t side = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512;
    int frames = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<Material> materials;
    for (int m = 0; m < 12; m++)
        materials.push_back({4.0f + 3.0f * float(m), 0.1f * float(m + 1), 0.02f * float(m)});
    std::vector<uint8_t> tiles(side * side);
    uint32_t state = 5;
    for (size_t i = 0; i < tiles.size(); i++) {
        state = state * 1664525 + 1013904223;
        tiles[i] = uint8_t((i / 7 + (state >> 24) / 32) % materials.size());
    }
    Renderer renderer(side, side);
    for (int f = 0; f < frames; f++) {
        Sun sun{0.3f + 0.6f * float(f) / float(frames), 1.0f + 0.01f * float(f)};
        renderer.draw(tiles, materials, sun);
    }
    std::printf("%.6f\n", renderer.brightness());
}
