// Requests, bytes and the largest answer of each host, from a log in the order of time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Tally {
    uint64_t requests = 0, bytes = 0, largest = 0;
};

static std::map<std::string, Tally> tallies;

static void add(const std::string &host, uint64_t bytes)
{
    if (tallies.find(host) == tallies.end())
        tallies[host] = Tally();
    tallies[host].requests++;
    tallies[host].bytes += bytes;
    if (bytes > tallies[host].largest)
        tallies[host].largest = bytes;
}

int main(int argc, char **argv)
{
    int requests = argc > 1 ? atoi(argv[1]) : 100000;
    std::vector<std::string> hosts;
    for (int i = 0; i < 3000; i++)
        hosts.push_back("host" + std::to_string(i * 7919 % 3000) + ".example.org");
    uint32_t state = 15;
    for (int i = 0; i < requests; i++) {
        state = state * 1103515245 + 12345;
        add(hosts[(state >> 12) % hosts.size()], state >> 20);
    }
    uint64_t sum = 0;
    for (const auto &[host, tally] : tallies)
        sum = sum * 31 + tally.requests * 7 + tally.bytes + tally.largest;
    printf("%016llx\n", (unsigned long long)sum);
}
