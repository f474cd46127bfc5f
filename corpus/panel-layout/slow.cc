// Lays out nested panels of labels and pictures at changing widths of their window.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

struct Size {
    int width = 0, height = 0;
};

struct Widget {
    Size wanted;     // 0: as much as the content needs
    Size placed;
    int left = 0, top = 0;
    virtual ~Widget() = default;
    virtual Size measure(int width) const = 0;
    virtual void arrange(int x, int y, Size size)
    {
        left = x;
        top = y;
        placed = size;
    }
    virtual uint64_t digest(uint64_t sum) const
    {
        return (((sum * 31 + left) * 31 + top) * 31 + placed.width) * 31 + placed.height;
    }
};

static int glyph_width(unsigned char c)
{
    return c == 'i' || c == 'l' ? 3 : c == 'm' || c == 'w' ? 9 : 6;
}

struct Label : Widget {
    std::string text;
    Size measure(int width) const override
    {
        Size size{0, 14};
        int line = 0, word = 0;
        for (unsigned char c : text) {
            if (c != ' ') {
                word += glyph_width(c);
                continue;
            }
            if (line + word > width && line) {
                size.height += 14;
                line = 0;
            }
            line += word + 4;
            if (line > size.width) size.width = line;
            word = 0;
        }
        if (line + word > width && line) {
            size.height += 14;
            line = 0;
        }
        if (line + word > size.width) size.width = line + word;
        return size;
    }
};

struct Picture : Widget {
    Size natural;
    Size measure(int width) const override
    {
        if (natural.width <= width) return natural;
        return {width, natural.height * width / natural.width};
    }
};

struct Column : Widget {
    std::vector<std::unique_ptr<Widget>> children;
    int gap = 4;

    int child_height(const Widget &child, int width) const
    {
        Size natural = child.measure(width);
        return child.wanted.height ? child.wanted.height : natural.height;
    }
    Size measure(int width) const override
    {
        Size size{width, 0};
        for (const auto &child : children) size.height += child_height(*child, width - 2 * gap) + gap;
        return size;
    }
    void arrange(int x, int y, Size size) override
    {
        Widget::arrange(x, y, size);
        int at = y;
        for (auto &child : children) {
            int height = child_height(*child, size.width - 2 * gap);
            child->arrange(x + gap, at, {size.width - 2 * gap, height});
            at += height + gap;
        }
    }
    uint64_t digest(uint64_t sum) const override
    {
        sum = Widget::digest(sum);
        for (const auto &child : children) sum = child->digest(sum);
        return sum;
    }
};

static uint32_t state = 3;
static uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 12) % n;
}

static std::unique_ptr<Widget> grow(int depth)
{
    if (depth == 0 && random_below(4) == 0) {
        auto picture = std::make_unique<Picture>();
        picture->natural = {int(20 + random_below(300)), int(20 + random_below(90))};
        return picture;
    }
    if (depth == 0) {
        auto label = std::make_unique<Label>();
        for (uint32_t words = 3 + random_below(18); words; words--) {
            for (uint32_t n = 2 + random_below(7); n; n--) label->text += char('a' + random_below(26));
            label->text += ' ';
        }
        if (random_below(3)) label->wanted.height = 28;
        return label;
    }
    auto column = std::make_unique<Column>();
    for (uint32_t n = 5 + random_below(4); n; n--) column->children.push_back(grow(depth - 1));
    if (random_below(4) == 0) column->wanted.height = 240;
    return column;
}

int main(int argc, char **argv)
{
    int windows = argc > 1 ? atoi(argv[1]) : 10, resizes = argc > 2 ? atoi(argv[2]) : 10;
    std::vector<std::unique_ptr<Widget>> roots;
    for (int w = 0; w < windows; w++) roots.push_back(grow(3));
    uint64_t sum = 0;
    for (int r = 0; r < resizes; r++)
        for (auto &root : roots) {
            int width = 180 + (r * 37) % 420;
            root->arrange(0, 0, root->measure(width));
            sum = root->digest(sum);
        }
    printf("%016llx\n", (unsigned long long)sum);
}
