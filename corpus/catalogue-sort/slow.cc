// Sorts a library's titles as readers expect them: letters first, accents and case only between equals.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Element {
    uint16_t primary, secondary;
};

class Collation {
public:
    explicit Collation(bool contractions_on) : contractions_on(contractions_on)
    {
        static const char *folded = "AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo*ouuuuyty";
        for (uint32_t c = 0; c < 0x250; c++) {
            uint32_t base = c >= 0xC0 && c < 0x100 ? static_cast<unsigned char>(folded[c - 0xC0]) : c;
            uint32_t upper = base >= 'A' && base <= 'Z';
            uint32_t letter = upper ? base + 32 : base;
            table[c].primary = static_cast<uint16_t>(letter == '\'' || letter == '-' ? 0 : letter);
            table[c].secondary = static_cast<uint16_t>((c != base ? c : 0) * 2 + upper);
        }
        contractions = {{'d', 'z', 0x0465}, {'l', 'l', 0x046D}, {'n', 'j', 0x046F}};
    }

    int compare(const std::string &a, const std::string &b) const
    {
        const unsigned char *p = bytes(a), *q = bytes(b), *p_end = p + a.size(), *q_end = q + b.size();
        int second = 0;
        for (;;) {
            Element x = next(p, p_end), y = next(q, q_end);
            if (x.primary != y.primary)
                return x.primary < y.primary ? -1 : 1;
            if (x.primary == 0)
                return second;
            if (second == 0 && x.secondary != y.secondary)
                second = x.secondary < y.secondary ? -1 : 1;
        }
    }

private:
    struct Contraction {
        uint32_t first, second;
        uint16_t primary;
    };

    static const unsigned char *bytes(const std::string &s) { return reinterpret_cast<const unsigned char *>(s.data()); }

    static uint32_t decode(const unsigned char *&p, const unsigned char *end)
    {
        uint32_t c = *p++;
        int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : 0;
        if (more)
            c &= 0x3Fu >> more;
        for (; more > 0 && p < end; more--)
            c = c << 6 | (*p++ & 0x3F);
        return c;
    }

    Element element(uint32_t c) const
    {
        if (c < table.size())
            return table[c];
        return {static_cast<uint16_t>(0x8000 | (c & 0x7FFF)), static_cast<uint16_t>(c >> 15)};
    }

    Element next(const unsigned char *&p, const unsigned char *end) const
    {
        while (p < end) {
            uint32_t c = decode(p, end);
            Element found = element(c);
            if (p < end && contractions_on) {
                const unsigned char *ahead = p;
                uint32_t follower = decode(ahead, end);
                for (const Contraction &k : contractions)
                    if (k.first == element(c).primary && k.second == element(follower).primary) {
                        p = ahead;
                        found.primary = k.primary;
                        break;
                    }
            }
            if (found.primary)
                return found;
        }
        return {0, 0};
    }

    std::vector<Element> table{0x250};
    std::vector<Contraction> contractions;
    bool contractions_on;
};

std::vector<std::string> acquire(size_t count)
{
    static const char *words[] = {"The ", "History ", "of ", "Mathematics ", "Principles ", "Introduction ", "to ", "and ",
                                  "Modern ", "Na\xC3\xAFve ", "Set ", "Theory ", "Caf\xC3\xA9s ", "Llama ", "River-", "Maps "};
    std::vector<std::string> titles(count);
    uint32_t state = 3;
    for (std::string &title : titles) {
        title = "The History of ";
        for (int w = 0; w < 5; w++) {
            state = state * 1664525 + 1013904223;
            uint32_t r = state >> 20;
            title += words[r % 9 == 0 ? 8 + r / 9 % 8 : r % 8];
        }
    }
    return titles;
}

uint64_t digest(const std::vector<std::string> &titles)
{
    uint64_t sum = 0;
    for (const std::string &title : titles)
        for (unsigned char c : title)
            sum = sum * 1099511628211u + c;
    return sum;
}

}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
    Collation spanish(true);
    std::vector<std::string> titles = acquire(count);
    uint64_t sum = 0;
    for (int r = 0; r < rounds; r++) {
        std::vector<std::string> shelf = titles;
        std::rotate(shelf.begin(), shelf.begin() + r * 97 % count, shelf.end());
        std::stable_sort(shelf.begin(), shelf.end(), [&](const std::string &a, const std::string &b) { return spanish.compare(a, b) < 0; });
        sum = sum * 31 + digest(shelf);
    }
    std::printf("%zu titles, %016llx\n", count, static_cast<unsigned long long>(sum));
}
