#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>
struct Rule { int low, high, weight; };
static int weigh(const std::shared_ptr<Rule> &rule, int value) { return value >= rule->low && value < rule->high ? rule->weight : 0; }
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2000000;
    std::vector<std::shared_ptr<Rule>> rules;
    for (int i = 0; i < 8; i++) rules.push_back(std::make_shared<Rule>(Rule{i * 10, i * 17, i}));
    long sum = 0;
    std::thread probe([&] { sum += 1; });
    probe.join();
    unsigned x = 1;
    for (int i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        for (const auto &rule : rules) sum += weigh(rule, int(x >> 25));
    }
    printf("%ld\n", sum);
}
