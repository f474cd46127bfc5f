// Expands {{name}} in a page template from a small dictionary.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

struct Value {
    const char *name;
    const char *text;
};

class Template {
public:
    explicit Template(std::string source) : source_(std::move(source)) {}

    // Writes the page into out, which must have room; returns its length.
    size_t expand(const std::vector<Value> &values, char *out) const
    {
        const char *in = source_.c_str();
        char *start = out;
        while (*in) {
            if (in[0] == '{' && in[1] == '{') {
                in = substitute(in + 2, values, out);
            } else {
                *out++ = *in++;
            }
        }
        return size_t(out - start);
    }

private:
    static const char *substitute(const char *in, const std::vector<Value> &values, char *&out)
    {
        const char *end = std::strstr(in, "}}");
        size_t length = size_t(end - in);
        for (const Value &value : values)
            if (std::strncmp(value.name, in, length) == 0 && value.name[length] == 0) {
                size_t size = std::strlen(value.text);
                std::memcpy(out, value.text, size);
                out += size;
                break;
            }
        return end + 2;
    }

    std::string source_;
};

int main(int argc, char **argv)
{
    int pages = argc > 1 ? std::atoi(argv[1]) : 1000;
    std::string source = "<!doctype html><html><head><title>{{title}}</title></head><body>";
    for (int i = 0; i < 12; i++)
        source += "<section class=\"entry with-border\"><h2>A heading that says what follows</h2>"
                  "<p>Some paragraphs of running text which is the same on every page, because "
                  "most of what a template holds is fixed, and only a few words change: {{name}}."
                  "</p></section>";
    Template page(source + "</body></html>");
    std::vector<char> out(source.size() * 2);
    unsigned long sum = 0;
    for (int i = 0; i < pages; i++) {
        char number[16];
        std::snprintf(number, sizeof number, "%d", i);
        size_t size = page.expand({{"title", "The title"}, {"name", number}}, out.data());
        sum = sum * 31 + size + (unsigned char)out[size_t(i) % size];
    }
    std::printf("%016lx\n", sum);
}
