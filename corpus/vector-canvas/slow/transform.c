#include "transform.h"

struct transform transform_translate(double x, double y)
{
    return (struct transform){1, 0, x, 0, 1, y, 0, 0, 1};
}

struct transform transform_scale(double x, double y)
{
    return (struct transform){x, 0, 0, 0, y, 0, 0, 0, 1};
}

struct transform transform_tilt(double wx, double wy)
{
    return (struct transform){1, 0, 0, 0, 1, 0, wx, wy, 1};
}

struct transform transform_multiply(const struct transform *a, const struct transform *b)
{
    const double *p = &a->xx, *q = &b->xx;
    struct transform product;
    double *to = &product.xx;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            to[row * 3 + column] = p[row * 3] * q[column] + p[row * 3 + 1] * q[3 + column] + p[row * 3 + 2] * q[6 + column];
    return product;
}

void transform_points(const struct transform *t, const struct point *from, struct point *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double x = from[i].x, y = from[i].y;
        double w = t->wx * x + t->wy * y + t->w0;
        to[i].x = (t->xx * x + t->xy * y + t->x0) / w;
        to[i].y = (t->yx * x + t->yy * y + t->y0) / w;
    }
}
