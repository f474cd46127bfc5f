#include "image.h"

Image::Image(int width, int height)
    : width_(width), height_(height), data_(std::size_t(width) * height)
{
}
