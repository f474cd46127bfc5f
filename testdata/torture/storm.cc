// Eight threads throw, fork and load a library while timers interrupt all of them. Prints sums
// that do not depend on when the signals come.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<long> ticks;
static void tick(int) { ticks.fetch_add(1, std::memory_order_relaxed); }

// Executed as often as its name says, by its threads together.
extern "C" __attribute__((noinline)) long straight_8000_mix(long a) {
    asm volatile("imul $31, %0, %0\n add $7, %0\n rol $3, %0\n xor $0x55, %0" : "+r"(a));
    return a;
}

static long throwing(int depth, long value) {
    struct Guard {
        long *sum;
        ~Guard() { *sum += 1; }
    };
    static thread_local long unwound = 0;
    Guard guard{&unwound};
    if (depth == 0) throw std::runtime_error(std::to_string(value));
    return throwing(depth - 1, value) + unwound;
}

static void work(int number, long *sum) {
    long total = number;
    for (int round = 0; round < 1000; round++) {
        total = straight_8000_mix(total);
        if (round % 50 == 0) {
            try {
                throwing(10, round);
            } catch (const std::exception &error) {
                total += atol(error.what());
            }
        }
        if (round % 200 == 100) {
            void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
            total += library != nullptr;
            if (library) dlclose(library);
        }
        if (round % 500 == 250) {
            pid_t child = fork();
            if (child == 0) {
                try {
                    throwing(5, 3);
                } catch (...) {
                    _exit(number + 3);
                }
            }
            int status = 0;
            while (waitpid(child, &status, 0) < 0) {}
            total += WEXITSTATUS(status);
        }
    }
    *sum = total;
}

int main() {
    struct sigaction action = {};
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    sigaction(SIGPROF, &action, nullptr);
    itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    setitimer(ITIMER_PROF, &timer, nullptr);
    long sums[8];
    std::vector<std::thread> threads;
    for (int number = 0; number < 8; number++) threads.emplace_back(work, number, &sums[number]);
    for (auto &thread : threads) thread.join();
    for (long sum : sums) printf("%lx\n", sum);
    return 0;
}
