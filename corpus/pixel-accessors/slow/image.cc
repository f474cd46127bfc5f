#include "image.h"

Image::Image(int width, int height)
    : width_(width), height_(height), data_(std::size_t(width) * height)
{
}

int Image::at(int x, int y) const
{
    return data_[std::size_t(y) * width_ + x];
}

void Image::set(int x, int y, int value)
{
    data_[std::size_t(y) * width_ + x] = uint8_t(value);
}
