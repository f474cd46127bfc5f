// A wave on a grid: two threads with half of the rows each, that meet once a step.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

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

struct Grid {
    int rows, columns;
    std::vector<float> height[3];
};

static void advance_rows(Grid &grid, unsigned step, int first, int last)
{
    const std::vector<float> &old = grid.height[step % 3], &now = grid.height[(step + 1) % 3];
    std::vector<float> &next = grid.height[(step + 2) % 3];
    for (int row = first; row < last; row++)
        for (int column = 1; column + 1 < grid.columns; column++) {
            const size_t at = size_t(row) * size_t(grid.columns) + size_t(column);
            const float bend = now[at - 1] + now[at + 1] + now[at - size_t(grid.columns)] + now[at + size_t(grid.columns)] - 4 * now[at];
            next[at] = 2 * now[at] - old[at] + 0.1f * bend;
        }
}

static void run(Grid &grid, Meeting &meeting, int half, unsigned steps)
{
    const int middle = grid.rows / 2;
    for (unsigned step = 0; step < steps; step++) {
        advance_rows(grid, step, half ? middle : 1, half ? grid.rows - 1 : middle);
        meeting.arrive_and_wait();
    }
}

int main(int argc, char **argv)
{
    const unsigned steps = argc > 1 ? unsigned(std::atoi(argv[1])) : 30;
    Grid grid{1202, 1000, {}};
    for (auto &height : grid.height)
        height.assign(size_t(grid.rows) * size_t(grid.columns), 0);
    grid.height[1][600 * 1000 + 500] = 1;
    Meeting meeting(2);
    std::thread upper(run, std::ref(grid), std::ref(meeting), 0, steps), lower(run, std::ref(grid), std::ref(meeting), 1, steps);
    upper.join();
    lower.join();
    double sum = 0;
    for (float height : grid.height[0])
        sum += double(height) * height;
    std::printf("%.9f\n", sum);
}
