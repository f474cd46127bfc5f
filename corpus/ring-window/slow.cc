#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
class Window {
    std::vector<int32_t> data_;
    size_t capacity_, head_ = 0;
public:
    explicit Window(size_t capacity) : data_(capacity), capacity_(capacity) {}
    void push(int32_t v) { data_[head_] = v; head_ = (head_ + 1) % capacity_; }
    int32_t at(size_t back) const { return data_[(head_ + capacity_ - 1 - back) % capacity_]; }
    size_t size() const { return capacity_; }
};
__attribute__((noinline)) static int64_t peak_to_peak(const Window &w, size_t span) {
    int32_t low = INT32_MAX, high = INT32_MIN;
    for (size_t i = 0; i < span; i++) {
        int32_t v = w.at(i);
        if (v < low) low = v;
        if (v > high) high = v;
    }
    return int64_t(high) - low;
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300000;
    Window w(1000);
    uint32_t x = 1;
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        w.push(int32_t(x >> 12));
        sum += peak_to_peak(w, 200);
    }
    printf("%lld\n", (long long)sum);
}
