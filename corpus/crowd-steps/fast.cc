// A crowd walks through a hall: two threads step half of the cells each and meet after every step.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

struct Person {
    float x, y, pushed;
};

using Cell = std::vector<Person>;

class Meeting {
public:
    explicit Meeting(int size) : size_(size) {}
    void arrive_and_wait()
    {
        std::unique_lock<std::mutex> hold(mutex_);
        const unsigned step = step_;
        if (++arrived_ == size_) {
            arrived_ = 0;
            step_++;
            all_here_.notify_all();
            return;
        }
        all_here_.wait(hold, [&] { return step_ != step; });
    }

private:
    std::mutex mutex_;
    std::condition_variable all_here_;
    int size_, arrived_ = 0;
    unsigned step_ = 0;
};

static void push_apart(Cell &cell)
{
    for (Person &person : cell) {
        float push = 0;
        for (const Person &other : cell) {
            const float x = person.x - other.x, y = person.y - other.y;
            push += x / (1 + x * x + y * y);
        }
        person.pushed = push;
    }
    for (Person &person : cell)
        person.x += 0.01f * person.pushed;
}

static void step_cells(std::vector<Cell> &hall, int walker, int walkers)
{
    const size_t share = hall.size() / size_t(walkers);
    for (size_t cell = 0; cell < share; cell++)
        push_apart(hall[cell * size_t(walkers) + size_t(walker)]);
}

static void walk(std::vector<Cell> &hall, Meeting &meeting, int walker, unsigned steps)
{
    for (unsigned step = 0; step < steps; step++) {
        step_cells(hall, walker, 2);
        meeting.arrive_and_wait();
    }
}

int main(int argc, char **argv)
{
    const unsigned steps = argc > 1 ? unsigned(std::atoi(argv[1])) : 10;
    // The exit is at one end: the nearer, the fuller.
    std::vector<Cell> hall(64);
    uint32_t state = 2;
    for (size_t cell = 0; cell < hall.size(); cell++)
        for (size_t p = 0; p < 120 + 12 * cell; p++) {
            state = state * 1664525 + 1013904223;
            hall[cell].push_back({float(state >> 16 & 255), float(state >> 24), 0});
        }
    Meeting meeting(2);
    std::thread left(walk, std::ref(hall), std::ref(meeting), 0, steps), right(walk, std::ref(hall), std::ref(meeting), 1, steps);
    left.join();
    right.join();
    double sum = 0;
    for (const Cell &cell : hall)
        for (const Person &person : cell)
            sum += double(person.x);
    std::printf("%.4f\n", sum);
}
