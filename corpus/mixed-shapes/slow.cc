// Areas and extents of a drawing of mixed shapes, each kind about equally frequent.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual double reach(double angle) const = 0;
};

struct Circle final : Shape {
    double r;
    explicit Circle(double radius) : r(radius) {}
    double area() const override { return M_PI * r * r; }
    double reach(double) const override { return r; }
};

struct Box final : Shape {
    double w, h;
    Box(double width, double height) : w(width), h(height) {}
    double area() const override { return w * h; }
    double reach(double angle) const override { return angle < 0.785 ? w / 2 : h / 2; }
};

struct Triangle final : Shape {
    double a, b;
    Triangle(double base, double height) : a(base), b(height) {}
    double area() const override { return a * b / 2; }
    double reach(double angle) const override { return a / 3 + angle * b / 9; }
};

struct Ring final : Shape {
    double outer, inner;
    Ring(double o, double i) : outer(o), inner(i) {}
    double area() const override { return M_PI * (outer * outer - inner * inner); }
    double reach(double) const override { return outer; }
};

class Drawing {
public:
    explicit Drawing(int n)
    {
        for (int i = 0; i < n; i++)
            switch (i % 4) {
            case 0: shapes_.push_back(std::make_unique<Circle>(1 + i % 7)); break;
            case 1: shapes_.push_back(std::make_unique<Box>(2 + i % 5, 3)); break;
            case 2: shapes_.push_back(std::make_unique<Triangle>(1 + i % 3, 4)); break;
            default: shapes_.push_back(std::make_unique<Ring>(5, 1 + i % 4)); break;
            }
    }

    void measure(double angle, double &area, double &reach) const
    {
        for (const auto &shape : shapes_) {
            area += shape->area();
            double r = shape->reach(angle);
            reach = r > reach ? r : reach;
        }
    }

private:
    std::vector<std::unique_ptr<Shape>> shapes_;
};

int main(int argc, char **argv)
{
    Drawing drawing(argc > 1 ? std::atoi(argv[1]) : 400);
    int rounds = argc > 2 ? std::atoi(argv[2]) : 1000;
    double area = 0, reach = 0;
    for (int r = 0; r < rounds; r++)
        drawing.measure(r % 100 * 0.01, area, reach);
    std::printf("%.3f %.3f\n", area, reach);
}
