// Renders spheres by ray casting, with a small vector class.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Vec {
    double x, y, z;
    Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
    Vec operator-(const Vec &o) const { return {x - o.x, y - o.y, z - o.z}; }
    Vec operator*(double k) const { return {x * k, y * k, z * k}; }
    double dot(const Vec &o) const { return x * o.x + y * o.y + z * o.z; }
    Vec unit() const { return *this * (1 / std::sqrt(dot(*this))); }
};

struct Sphere {
    Vec centre;
    double radius;

    // Distance along the ray, or a negative number.
    double hit(const Vec &from, const Vec &direction) const
    {
        Vec to = centre - from;
        double along = to.dot(direction);
        double under = radius * radius - to.dot(to) + along * along;
        return under < 0 || along < 0 ? -1 : along - std::sqrt(under);
    }
};

static double shade(const std::vector<Sphere> &scene, const Vec &from, const Vec &direction)
{
    const Sphere *nearest = nullptr;
    double distance = 1e30;
    for (const Sphere &sphere : scene) {
        double d = sphere.hit(from, direction);
        if (d > 0 && d < distance) {
            distance = d;
            nearest = &sphere;
        }
    }
    if (!nearest)
        return 0.05;
    Vec normal = (from + direction * distance - nearest->centre).unit();
    double light = normal.dot(Vec{-0.5, 0.7, -0.5});
    return light > 0 ? light : 0;
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? std::atoi(argv[1]) : 100;
    std::vector<Sphere> scene;
    for (int i = 0; i < 24; i++)
        scene.push_back({{i % 5 - 2.0, i / 5 - 2.0, 6.0 + i % 3}, 0.3 + i % 4 * 0.1});
    double sum = 0;
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++)
            sum += shade(scene, {0, 0, -1}, Vec{(x - size / 2) / double(size), (y - size / 2) / double(size), 1}.unit());
    std::printf("%.6f\n", sum);
}
