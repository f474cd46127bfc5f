// Writes events as JSON: strings are escaped letter by letter into a growing buffer.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

struct Event {
    std::string kind, user, message;
};

class Writer {
public:
    void event(const Event &e)
    {
        raw("{\"kind\":");
        quoted(e.kind);
        raw(",\"user\":");
        quoted(e.user);
        raw(",\"message\":");
        quoted(e.message);
        raw("}\n");
    }

    uint64_t digest()
    {
        uint64_t sum = 0;
        for (size_t i = 0; i < out_.size(); i += 13)
            sum = sum * 31 + uint8_t(out_[i]);
        return sum + out_.size();
    }

    void clear() { out_.clear(); }

private:
    void raw(const char *text)
    {
        while (*text)
            out_.push_back(*text++);
    }

    void quoted(const std::string &text)
    {
        out_.push_back('"');
        for (char c : text)
            letter(c);
        out_.push_back('"');
    }

    void letter(char c)
    {
        if (uint8_t(c) >= 0x20 && c != '"' && c != '\\')
            out_.push_back(c);
        else
            escape(c);
    }

    __attribute__((noinline, cold)) void escape(char c)
    {
        if (c == '"' || c == '\\') {
            out_.push_back('\\');
            out_.push_back(c);
        } else {
            std::ostringstream code;
            code << "\\u" << std::hex << std::setw(4) << std::setfill('0') << unsigned(uint8_t(c));
            std::string text = code.str();
            if (text.size() != 6)
                text = "\\ufffd";
            out_.insert(out_.end(), text.begin(), text.end());
        }
    }

    std::vector<char> out_;
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<Event> events;
    uint32_t state = 61;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        Event e{i % 3 ? "request" : "session", "user-" + std::to_string(state >> 18), "the page was sent in "};
        e.message += std::to_string(state >> 22) + " ms, from the cache of the node";
        if (state >> 24 == 7)
            e.message += " \"front\"\t";
        events.push_back(e);
    }
    Writer writer;
    uint64_t sum = 0;
    for (int p = 0; p < passes; p++) {
        writer.clear();
        for (const Event &e : events)
            writer.event(e);
        sum = sum * 7 + writer.digest();
    }
    std::printf("%016llx\n", (unsigned long long)sum);
}
