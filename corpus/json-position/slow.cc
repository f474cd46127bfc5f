// A checking JSON reader that reports line and column of an error.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

class Reader {
public:
    explicit Reader(const std::string &text) : at_(text.data()), end_(text.data() + text.size()) {}

    void value()
    {
        skip_space();
        switch (peek()) {
        case '{': members('}', true); break;
        case '[': members(']', false); break;
        case '"': string(); break;
        default: word();
        }
        values++;
    }

    uint64_t values = 0, letters = 0;

    // Where the last token began, for whoever reports an error.
    struct Position {
        const char *token;
        uint32_t line, column, offset, depth;
    } position{nullptr, 1, 1, 0, 0};

private:
    char peek() const { return at_ < end_ ? *at_ : '\0'; }

    char next()
    {
        if (at_ == end_)
            fail("unexpected end");
        char c = *at_++;
        position.offset++;
        if (c == '\n') {
            position.line++;
            position.column = 1;
        } else {
            position.column++;
        }
        position.token = at_;
        return c;
    }

    void skip_space()
    {
        while (peek() == ' ' || peek() == '\n')
            next();
    }

    void string()
    {
        next();
        for (char c; (c = next()) != '"'; letters += uint64_t(c != ' '))
            if (c == '\\')
                next();
    }

    void word()
    {
        const char *from = at_;
        for (char c; (c = peek()) != ',' && c != ']' && c != '}' && c != '\n' && c != '\0';)
            next();
        if (from == at_)
            fail("value expected");
    }

    void members(char close, bool named)
    {
        next();
        position.depth++;
        for (skip_space(); peek() != close; skip_space()) {
            if (named) {
                string();
                skip_space();
                if (next() != ':')
                    fail("colon expected");
            }
            value();
            skip_space();
            if (peek() == ',')
                next();
        }
        next();
        position.depth--;
    }

    [[noreturn]] void fail(const char *what)
    {
        throw std::runtime_error(std::string(what) + " in line " + std::to_string(position.line));
    }

    const char *at_, *end_;
};

static std::string document(size_t records)
{
    std::string text = "[\n";
    uint32_t state = 41;
    for (size_t i = 0; i < records; i++) {
        state = state * 1664525 + 1013904223;
        text += i ? ",\n" : "";
        text += " {\"id\": " + std::to_string(i) + ", \"title\": \"report about the region and its rivers\",";
        text += " \"tags\": [\"water\", \"maps\"], \"size\": " + std::to_string(state >> 12) + "}";
    }
    return text + "\n]\n";
}

int main(int argc, char **argv)
{
    size_t records = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    const std::string text = document(records);
    uint64_t values = 0, letters = 0;
    for (int p = 0; p < passes; p++) {
        Reader reader(text);
        reader.value();
        values += reader.values;
        letters += reader.letters;
    }
    std::printf("%llu values, %llu letters\n", (unsigned long long)values, (unsigned long long)letters);
}
