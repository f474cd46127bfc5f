// Classifies points with a forest of small decision trees.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int DEPTH = 6, FEATURES = 8;

struct Tree {
    // Node n has the children 2n+1 and 2n+2; the leaves come after the inner nodes.
    uint8_t feature[(1 << DEPTH) - 1];
    float threshold[(1 << DEPTH) - 1];
    int vote[1 << DEPTH];
};

class Forest {
public:
    explicit Forest(int trees) : trees_(size_t(trees))
    {
        for (Tree &tree : trees_) {
            for (int n = 0; n < (1 << DEPTH) - 1; n++) {
                tree.feature[n] = uint8_t(next() % FEATURES);
                tree.threshold[n] = float(next() % 1000) / 1000;
            }
            for (int &vote : tree.vote)
                vote = int(next() % 5) - 2;
        }
    }

    int classify(const float *point) const
    {
        int votes = 0;
        for (const Tree &tree : trees_) {
            int node = 0;
            for (int level = 0; level < DEPTH; level++) {
                if (point[tree.feature[node]] < tree.threshold[node])
                    node = 2 * node + 1;
                else
                    node = 2 * node + 2;
            }
            votes += tree.vote[node - ((1 << DEPTH) - 1)];
        }
        return votes;
    }

    uint32_t next() { return (state_ = state_ * 1664525 + 1013904223) >> 12; }

private:
    uint32_t state_ = 1;
    std::vector<Tree> trees_;
};

int main(int argc, char **argv)
{
    Forest forest(argc > 1 ? std::atoi(argv[1]) : 20);
    int points = argc > 2 ? std::atoi(argv[2]) : 10000;
    long positive = 0, sum = 0;
    for (int p = 0; p < points; p++) {
        float point[FEATURES];
        for (float &x : point)
            x = float(forest.next() % 1000) / 1000;
        int votes = forest.classify(point);
        positive += votes > 0;
        sum += votes;
    }
    std::printf("%ld positive, %ld\n", positive, sum);
}
