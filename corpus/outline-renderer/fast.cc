// Renders an outline of headings, lists and notes as HTML.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

class Block {
public:
    virtual ~Block() = default;
    virtual void render(std::string &out) const = 0;
};

using Blocks = std::vector<std::unique_ptr<Block>>;

void escape(std::string &out, const std::string &text)
{
    size_t start = 0;
    for (size_t at = 0; at < text.size(); at++)
        if (text[at] == '<' || text[at] == '&') {
            out.append(text, start, at - start);
            out += text[at] == '<' ? "&lt;" : "&amp;";
            start = at + 1;
        }
    out.append(text, start, text.size() - start);
}

class Paragraph : public Block {
public:
    explicit Paragraph(std::string text) : text(std::move(text)) {}
    void render(std::string &out) const override
    {
        out += "<p>";
        escape(out, text);
        out += "</p>\n";
    }

private:
    std::string text;
};

class Container : public Block {
public:
    void add(std::unique_ptr<Block> block) { blocks.push_back(std::move(block)); }

protected:
    void children(std::string &out) const
    {
        for (const auto &block : blocks)
            block->render(out);
    }

    Blocks blocks;
};

class Section : public Container {
public:
    explicit Section(std::string title) : title(std::move(title)) {}
    void render(std::string &out) const override
    {
        out += "<section><h2>";
        escape(out, title);
        out += "</h2>\n";
        children(out);
        out += "</section>\n";
    }

private:
    std::string title;
};

class List : public Container {
public:
    void render(std::string &out) const override
    {
        out += "<ul>\n";
        for (const auto &block : blocks) {
            out += "<li>";
            block->render(out);
            out += "</li>\n";
        }
        out += "</ul>\n";
    }
};

class Note : public Container {
public:
    void render(std::string &out) const override
    {
        out += "<aside>";
        children(out);
        out += "</aside>\n";
    }
};

uint32_t state = 23;

uint32_t random_below(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 9) % n;
}

std::string sentences(uint32_t least)
{
    static const char *words[] = {"river ", "flow < 3 ", "bridges ", "and ", "R&D ", "the ", "older ", "stone ",
                                  "carries ", "between ", "surveyed ", "foundations ", "of ", "water ", "upstream ", "again "};
    std::string text;
    for (uint32_t n = least + random_below(least); n > 0; n--)
        text += words[random_below(16)];
    return text;
}

std::unique_ptr<Block> grow(int depth)
{
    if (depth == 0)
        return std::make_unique<Paragraph>(sentences(25));
    std::unique_ptr<Container> block;
    switch (random_below(3)) {
    case 0: block = std::make_unique<Section>(sentences(3)); break;
    case 1: block = std::make_unique<List>(); break;
    default: block = std::make_unique<Note>();
    }
    for (int i = 0; i < 2; i++)
        block->add(grow(depth - 1));
    return block;
}

uint64_t digest(const std::string &text)
{
    uint64_t h = 0;
    for (size_t i = 0; i + 8 <= text.size(); i += 64)
        h = (h ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
    return h ^ text.size();
}

}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? std::atoi(argv[1]) : 8;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    std::unique_ptr<Block> root = grow(depth);
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++) {
        std::string out;
        root->render(out);
        sum = sum * 31 + digest(out);
    }
    std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
