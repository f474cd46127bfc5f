#include <stddef.h>

struct point {
    double x, y;
};

struct transform {
    double xx, xy, x0;
    double yx, yy, y0;
    double wx, wy, w0;
};

struct transform transform_translate(double x, double y);
struct transform transform_scale(double x, double y);
struct transform transform_tilt(double wx, double wy);
struct transform transform_multiply(const struct transform *a, const struct transform *b);
void transform_points(const struct transform *t, const struct point *from, struct point *to, size_t count);
