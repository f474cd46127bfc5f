// A grey image with bounds kept at its edges.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

class Image {
public:
    Image(int width, int height);
    int width() const { return width_; }
    int height() const { return height_; }
    int at(int x, int y) const;
    void set(int x, int y, int value);

private:
    int width_, height_;
    std::vector<uint8_t> data_;
};
