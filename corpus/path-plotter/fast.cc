// Draws curves of measured series as the paths of a vector picture.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Point {
    double x, y;
};

class Writer {
public:
    std::string text;

    void tag(const char *name) { text.append("<").append(name); }
    void attribute(const char *name, const std::string &value) { text.append(" ").append(name).append("=\"").append(value).append("\""); }
    void close() { text.append("/>\n"); }
};

static std::string coordinate(double value)
{
    char text[32];
    auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 2).ptr;
    return std::string(text, end);
}

class Plotter {
public:
    Plotter(double width, double height) : width(width), height(height) {}

    void curve(Writer &to, const std::vector<double> &series, uint32_t colour)
    {
        fit(series);
        reduce(series);
        std::string data;
        char command = 'M';
        for (const Point &p : kept) {
            data += command;
            data += coordinate(p.x);
            data += ' ';
            data += coordinate(p.y);
            command = 'L';
        }
        char name[8];
        snprintf(name, sizeof name, "#%06x", colour & 0xFFFFFF);
        to.tag("path");
        to.attribute("fill", "none");
        to.attribute("stroke", name);
        to.attribute("d", data);
        to.close();
    }

private:
    double width, height, low = 0, high = 1;
    std::vector<Point> points, kept;

    void fit(const std::vector<double> &series)
    {
        low = 1e300, high = -1e300;
        for (double v : series) {
            low = std::min(low, v);
            high = std::max(high, v);
        }
        points.clear();
        double step = width / double(series.size());
        for (size_t i = 0; i < series.size(); i++) points.push_back({double(i) * step, (high - series[i]) / (high - low) * height});
    }

    // Leaves out points that lie on the line from the last that was kept to the next.
    void reduce(const std::vector<double> &series)
    {
        kept.assign(1, points.front());
        for (size_t i = 1; i + 1 < series.size(); i++) {
            Point a = kept.back(), b = points[i], c = points[i + 1];
            double across = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
            double square = (c.x - a.x) * (c.x - a.x) + (c.y - a.y) * (c.y - a.y);
            if (across * across > 0.16 * square) kept.push_back(b);
        }
        kept.push_back(points.back());
    }
};

int main(int argc, char **argv)
{
    size_t samples = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1000;
    int curves = argc > 2 ? atoi(argv[2]) : 10;
    Plotter plotter(1600, 400);
    Writer writer;
    uint32_t state = 31;
    std::vector<double> series(samples);
    uint64_t sum = 0;
    for (int c = 0; c < curves; c++) {
        double level = 0, drift = 0;
        for (double &v : series) {
            state = state * 1664525 + 1013904223;
            drift = drift * 0.98 + (double(state >> 8) / (1 << 24) - 0.5);
            level = level * 0.999 + drift;
            v = level;
        }
        writer.text.clear();
        plotter.curve(writer, series, state >> 4);
        for (unsigned char ch : writer.text) sum = sum * 31 + ch;
    }
    printf("%016llx\n", (unsigned long long)sum);
}
