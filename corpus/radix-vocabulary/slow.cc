// Counts the words of a stream against a vocabulary kept in a radix tree.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Node {
    std::string label;
    bool word = false;
    uint32_t count = 0;
    std::vector<std::unique_ptr<Node>> children;
    std::string first;
};

class Vocabulary {
public:
    void insert(std::string_view word)
    {
        Node *node = &root;
        for (;;) {
            if (word.empty()) {
                node->word = true;
                return;
            }
            size_t at = node->first.find(word[0]);
            if (at == std::string::npos) {
                node->children.push_back(std::make_unique<Node>());
                node->first += word[0];
                node->children.back()->label = word;
                node->children.back()->word = true;
                return;
            }
            Node *child = node->children[at].get();
            size_t common = 0;
            while (common < child->label.size() && common < word.size() && child->label[common] == word[common])
                common++;
            if (common < child->label.size())
                split(node->children[at], common);
            node = node->children[at].get();
            word.remove_prefix(common);
        }
    }

    Node *find(std::string_view word)
    {
        Node *node = &root;
        while (!word.empty()) {
            Node *next = child(*node, word[0]);
            if (!next || !starts_with(word, next->label))
                return nullptr;
            word.remove_prefix(next->label.size());
            node = next;
        }
        return node->word ? node : nullptr;
    }

    template <class Visit> void each(Visit visit) const { walk(root, visit); }

private:
    static bool starts_with(std::string_view word, const std::string &label)
    {
        return word.size() >= label.size() && std::equal(label.begin(), label.end(), word.begin());
    }

    static Node *child(const Node &node, char c)
    {
        for (size_t i = 0; i < node.first.size(); i++)
            if (node.first[i] == c)
                return node.children[i].get();
        return nullptr;
    }

    static void split(std::unique_ptr<Node> &place, size_t at)
    {
        auto upper = std::make_unique<Node>();
        upper->label = place->label.substr(0, at);
        place->label.erase(0, at);
        upper->first = place->label[0];
        upper->children.push_back(std::move(place));
        place = std::move(upper);
    }

    template <class Visit> static void walk(const Node &node, Visit visit)
    {
        visit(node);
        for (const auto &next : node.children)
            walk(*next, visit);
    }

    Node root;
};

class Stream {
public:
    std::string word()
    {
        static const char *syllables[] = {"ka", "ro", "mi", "ta", "shi", "ne", "lu", "o", "ven", "da", "ri", "e"};
        std::string text;
        state = state * 1664525 + 1013904223;
        uint32_t r = state >> 10;
        for (int n = 2 + static_cast<int>(r % 3); n > 0; n--) {
            text += syllables[r % 12];
            r /= 12;
        }
        return text;
    }

private:
    uint32_t state = 2;
};

}

int main(int argc, char **argv)
{
    int known = argc > 1 ? std::atoi(argv[1]) : 1000;
    int passes = argc > 2 ? std::atoi(argv[2]) : 10;
    Vocabulary vocabulary;
    Stream stream;
    for (int i = 0; i < known; i++)
        vocabulary.insert(stream.word());
    std::vector<std::string> text;
    for (int i = 0; i < 2000; i++)
        text.push_back(stream.word());
    uint64_t unknown = 0;
    for (int p = 0; p < passes; p++)
        for (const std::string &word : text) {
            if (Node *node = vocabulary.find(word))
                node->count++;
            else
                unknown++;
        }
    uint64_t sum = unknown;
    vocabulary.each([&](const Node &node) { sum = sum * 31 + node.count; });
    std::printf("%llu unknown, %016llx\n", static_cast<unsigned long long>(unknown), static_cast<unsigned long long>(sum));
}
