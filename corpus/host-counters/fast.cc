// Counts requests and bytes of hosts from a log that is grouped by connection: the same host many times in a row.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Request {
    std::string host;
    uint32_t bytes;
    bool failed;
};

class Statistics {
public:
    void add(const Request &request)
    {
        if (!last_ || last_->first != request.host)
            last_ = &*hosts_.try_emplace(request.host).first;
        Counter &counter = last_->second;
        counter.requests++;
        counter.bytes += request.bytes;
        if (request.failed)
            counter.failures++;
    }

    uint64_t digest() const
    {
        uint64_t sum = 0;
        for (const auto &[host, counter] : hosts_)
            sum = sum * 131 + host.size() + counter.requests * 7 + counter.bytes + counter.failures * 3;
        return sum;
    }

private:
    struct Counter {
        uint64_t requests = 0, bytes = 0, failures = 0;
    };
    std::map<std::string, Counter> hosts_;
    std::pair<const std::string, Counter> *last_ = nullptr;
};

static std::vector<Request> make_log(int connections)
{
    std::vector<Request> log;
    uint32_t state = 31;
    auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 10; };
    for (int c = 0; c < connections; c++) {
        std::string host = "www-" + std::to_string(random() % 700) + ".customers.example.org";
        for (uint32_t left = 20 + random() % 60; left; left--)
            log.push_back({host, random() % 50000, random() % 97 == 0});
    }
    return log;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    std::vector<Request> log = make_log(600);
    Statistics statistics;
    for (int r = 0; r < rounds; r++)
        for (const Request &request : log)
            statistics.add(request);
    std::printf("%016llx\n", (unsigned long long)statistics.digest());
}
