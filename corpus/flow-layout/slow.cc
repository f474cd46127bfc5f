// Lays out a window's widgets in lines, as a paragraph's words, and again at each new width.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

struct Font {
    uint8_t advance[128];
    int8_t kern[32][32];

    explicit Font(uint32_t seed)
    {
        for (int c = 0; c < 128; c++)
            advance[c] = uint8_t(4 + (seed * uint32_t(c + 3) >> 7) % 7);
        for (int a = 0; a < 32; a++)
            for (int b = 0; b < 32; b++)
                kern[a][b] = int8_t((a * 7 + b * 13) % 11 == 0 ? -1 : 0);
    }

    int width(const std::string &text) const
    {
        int total = 0;
        unsigned before = 0;
        for (unsigned char c : text) {
            total += advance[c & 127] + kern[before & 31][c & 31];
            before = c;
        }
        return total;
    }
};

struct Box {
    int x = 0, y = 0, width = 0, height = 0;
};

struct Size {
    int width, height;
};

class Widget {
public:
    virtual ~Widget() = default;
    virtual Size preferred() const = 0;
    virtual uint32_t paint(uint32_t digest) const
    {
        return (digest ^ uint32_t(box.x * 31 + box.y * 7 + box.width)) * 16777619u + uint32_t(box.height);
    }
    Box box;
};

class Label : public Widget {
public:
    Label(const Font &font, std::string text) : font_(font), text_(std::move(text)) {}
    Size preferred() const override { return {font_.width(text_) + 4, 16}; }
    uint32_t paint(uint32_t digest) const override
    {
        int x = box.x;
        for (unsigned char c : text_) {
            digest = digest * 33 ^ uint32_t(x + c);
            x += font_.advance[c & 127];
        }
        return Widget::paint(digest);
    }

private:
    const Font &font_;
    std::string text_;
};

class Choice : public Widget {
public:
    Choice(const Font &font, std::vector<std::string> options) : font_(font), options_(std::move(options)) {}
    Size preferred() const override
    {
        int widest = 40;
        for (const auto &option : options_) {
            int width = font_.width(option);
            if (width > widest)
                widest = width;
        }
        return {widest + 22, 24};
    }

private:
    const Font &font_;
    std::vector<std::string> options_;
};

class Icon : public Widget {
public:
    explicit Icon(int side) : side_(side) {}
    Size preferred() const override { return {side_, side_}; }

private:
    int side_;
};

class FlowPanel {
public:
    std::vector<std::unique_ptr<Widget>> children;
    int gap = 6;

    int arrange(int available)
    {
        int y = 0;
        for (size_t first = 0; first < children.size();) {
            size_t last = first;
            int used = 0, height = 0;
            while (last < children.size()) {
                Size size = children[last]->preferred();
                if (last > first && used + gap + size.width > available)
                    break;
                used += size.width + (last > first ? gap : 0);
                height = size.height > height ? size.height : height;
                last++;
            }
            place(first, last, (available - used) / 2, y, height);
            y += height + gap;
            first = last;
        }
        return y;
    }

private:
    // Centres a line: each widget in the middle of the line's height.
    void place(size_t first, size_t last, int x, int y, int height)
    {
        for (size_t i = first; i < last; i++) {
            Size size = children[i]->preferred();
            children[i]->box = {x, y + (height - size.height) / 2, size.width, size.height};
            x += size.width + gap;
        }
    }
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 500;
    int resizes = argc > 2 ? atoi(argv[2]) : 100;
    Font font(2654435761u);
    FlowPanel panel;
    uint32_t state = 3;
    auto text = [&](int words) {
        std::string out;
        for (int i = 0; i < words * 5; i++) {
            state = state * 1664525 + 1013904223;
            out += i % 5 == 4 ? ' ' : char('a' + (state >> 20) % 26);
        }
        return out;
    };
    for (size_t i = 0; i < count; i++) {
        if (i % 9 == 4)
            panel.children.push_back(std::make_unique<Choice>(font, std::vector<std::string>{text(2), text(3), text(1), text(2)}));
        else if (i % 5 == 3)
            panel.children.push_back(std::make_unique<Icon>(int(16 + i % 3 * 8)));
        else
            panel.children.push_back(std::make_unique<Label>(font, text(int(2 + i % 5))));
    }
    uint32_t digest = 1;
    for (int r = 0; r < resizes; r++) {
        digest += uint32_t(panel.arrange(500 + r % 300));
        for (const auto &child : panel.children)
            digest = child->paint(digest);
    }
    printf("%08x\n", digest);
}
