// Collects events from several sources into columns, batch by batch.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Event {
    uint32_t time;
    uint16_t kind;
    uint16_t value;
};

class Column {
public:
    void append(const Event *batch, size_t n)
    {
        for (size_t i = 0; i < n; i++)
            if (batch[i].kind != 0)
                events_.push_back(batch[i]);
    }

    uint64_t digest() const
    {
        uint64_t sum = events_.size();
        for (size_t i = 0; i < events_.size(); i += 97)
            sum = sum * 31 + events_[i].time + events_[i].value;
        return sum;
    }

private:
    std::vector<Event> events_;
};

int main(int argc, char **argv)
{
    size_t sources = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 16;
    int batches = argc > 2 ? std::atoi(argv[2]) : 100;
    int days = argc > 3 ? std::atoi(argv[3]) : 10;
    uint32_t state = 9, now = 0;
    uint64_t sum = 0;
    for (int day = 0; day < days; day++) {
        std::vector<Column> columns(sources);
        for (int b = 0; b < batches; b++) {
            Event batch[8];
            for (Event &event : batch) {
                state = state * 1664525 + 1013904223;
                now += state >> 30;
                event = {now, uint16_t(state >> 28), uint16_t(state >> 8)};
            }
            columns[size_t(b) % sources].append(batch, 8);
        }
        for (const Column &column : columns)
            sum = sum * 1000003 + column.digest();
    }
    std::printf("%016llx\n", (unsigned long long)sum);
}
