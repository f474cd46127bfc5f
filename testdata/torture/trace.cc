// Exceptions through handlers and threads, backtrace() from deep and from a handler.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <stdexcept>
#include <string>
#include <thread>

static int frames(const char *wanted) {
    void *addresses[100];
    int count = backtrace(addresses, 100);
    char **names = backtrace_symbols(addresses, count);
    int found = 0;
    for (int i = 0; i < count; i++) found += strstr(names[i], wanted) != nullptr;
    free(names);
    return found;
}

extern "C" __attribute__((noinline)) int deep_here(int depth) {
    if (depth == 0) return frames("deep_here");
    int found = deep_here(depth - 1);
    asm volatile("");
    return found;
}

static int in_handler;
static void handler(int) { in_handler = frames("deep_here") + 100 * frames("main"); }

extern "C" __attribute__((noinline)) int deep_here_raising(int depth) {
    if (depth == 0) raise(SIGUSR1);
    else deep_here_raising(depth - 1);
    asm volatile("");
    return in_handler;
}

extern "C" __attribute__((noinline)) int deep_here_faulting(int depth, volatile int *at) {
    int got = depth == 0 ? *at : deep_here_faulting(depth - 1, at);
    asm volatile("");
    return got;
}

static void throws(int) { throw std::string("out of a handler"); }

struct Counts {
    int *at;
    ~Counts() { ++*at; }
};

__attribute__((noinline)) static void level(int depth, int *unwound) {
    Counts counts{unwound};
    if (depth == 0) throw std::runtime_error("deep");
    level(depth - 1, unwound);
}

int main() {
    printf("%d\n", deep_here(20));
    signal(SIGUSR1, handler);
    printf("%d\n", deep_here_raising(10));
    int unwound = 0;
    for (int i = 0; i < 200; i++) {
        try {
            level(30, &unwound);
        } catch (const std::exception &) {
        }
    }
    printf("%d\n", unwound);
    struct sigaction action = {};
    action.sa_handler = throws;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    for (int i = 0; i < 20; i++) {
        try {
            deep_here_faulting(5, nullptr);
        } catch (const std::string &text) {
            if (i == 0) printf("%s\n", text.c_str());
        }
    }
    std::thread other([] {
        try {
            try {
                throw 1;
            } catch (int) {
                throw std::runtime_error("again");
            }
        } catch (const std::exception &error) {
            printf("%s\n", error.what());
        }
    });
    other.join();
    fflush(stdout);
    std::set_terminate([] { puts("terminated"); fflush(stdout); _Exit(17); });
    throw 5;
}
