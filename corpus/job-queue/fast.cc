// A scheduler: jobs wait in a queue, are taken from its front, and some come back.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

struct Job {
    uint32_t id;
    uint32_t rounds;
    uint64_t payload[2];
};

class Queue {
public:
    void push(const Job &job) { jobs_.push_back(job); }

    Job pop()
    {
        Job job = jobs_.front();
        jobs_.pop_front();
        return job;
    }

    bool empty() const { return jobs_.empty(); }

private:
    std::deque<Job> jobs_;
};

int main(int argc, char **argv)
{
    uint32_t jobs = argc > 1 ? uint32_t(std::atoi(argv[1])) : 1000;
    Queue queue;
    uint32_t state = 1;
    for (uint32_t i = 0; i < jobs; i++) {
        state = state * 1664525 + 1013904223;
        queue.push({i, 1 + (state >> 30), {state, i}});
    }
    uint64_t digest = 0;
    while (!queue.empty()) {
        Job job = queue.pop();
        digest = digest * 31 + job.id + job.payload[0];
        job.payload[0] ^= digest;
        if (--job.rounds)
            queue.push(job);
    }
    std::printf("%016llx\n", (unsigned long long)digest);
}
