// Paints glyphs with coverage into a frame: colour, clip and blend mode belong to the painter.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum class Blend { Replace, Over, Add };

struct Glyph {
    int width, height;
    std::vector<uint8_t> coverage;
};

class Painter {
public:
    Painter(int width, int height) : width_(width), height_(height), clip_right_(width), clip_bottom_(height)
    {
        frame_.resize(size_t(width) * size_t(height));
    }

    void set_blend(Blend blend) { blend_ = blend; }
    void set_shade(uint8_t shade) { shade_ = shade; }

    void paint(const Glyph &glyph, int left, int top)
    {
        for (int y = 0; y < glyph.height; y++)
            for (int x = 0; x < glyph.width; x++)
                pixel(left + x, top + y, glyph.coverage[size_t(y * glyph.width + x)]);
    }

    uint64_t digest() const
    {
        uint64_t sum = 0;
        for (uint8_t shade : frame_)
            sum = sum * 31 + shade;
        return sum;
    }

private:
    void pixel(int x, int y, uint8_t coverage)
    {
        if (x < clip_left_ || x >= clip_right_ || y < clip_top_ || y >= clip_bottom_)
            return;
        uint8_t &to = frame_[size_t(y) * size_t(width_) + size_t(x)];
        if (inverted_)
            coverage = uint8_t(255 - coverage);
        switch (blend_) {
        case Blend::Replace: to = coverage; break;
        case Blend::Over: to = uint8_t(to + (((shade_ - to) * coverage) >> 8)); break;
        case Blend::Add: to = uint8_t(std::min(255, to + coverage)); break;
        }
    }

    int width_, height_;
    int clip_left_ = 0, clip_top_ = 0, clip_right_, clip_bottom_;
    bool inverted_ = false;
    Blend blend_ = Blend::Over;
    uint8_t shade_ = 200;
    std::vector<uint8_t> frame_;
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    Painter painter(640, 400);
    std::vector<Glyph> glyphs;
    uint32_t state = 47;
    for (int g = 0; g < 40; g++) {
        Glyph glyph{9 + g % 5, 16, {}};
        for (int i = 0; i < glyph.width * glyph.height; i++)
            glyph.coverage.push_back(uint8_t((state = state * 1664525 + 1013904223) >> 24));
        glyphs.push_back(glyph);
    }
    for (int r = 0; r < rounds; r++) {
        painter.set_shade(uint8_t(r * 37));
        for (int line = 0; line < 24; line++)
            for (int column = 0; column < 48; column++)
                painter.paint(glyphs[size_t(line * 7 + column * 3 + r) % glyphs.size()], column * 13, line * 16);
    }
    std::printf("%016llx\n", (unsigned long long)painter.digest());
}
