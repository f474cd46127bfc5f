// Where is a racing car slow? Each corner of each lap against the average of all laps, over all channels of a log.
#include "summary.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Channel {
    std::vector<float> trace;
};

constexpr std::size_t samples_per_lap = 9000, corners = 180, channels = 6;

std::vector<Channel> read_log(std::size_t laps)
{
    std::vector<Channel> log(channels);
    std::uint32_t state = 7;
    for (std::size_t c = 0; c < channels; c++) {
        for (std::size_t at = 0; at < laps * samples_per_lap; at++) {
            state = state * 1664525u + 1013904223u;
            double phase = static_cast<double>(at % samples_per_lap) / samples_per_lap * 6.283;
            double noise = static_cast<double>(state >> 8) / (1 << 24);
            log[c].trace.push_back(static_cast<float>(100.0 + 60.0 * phase * (6.283 - phase) / 9.87 + noise + c));
        }
    }
    return log;
}

// The corner's place among all laps' corners, by how far it is from their average.
double score(const Channel &channel, std::size_t lap, std::size_t corner, const std::vector<double> &usual)
{
    std::size_t length = samples_per_lap / corners;
    std::size_t from = lap * samples_per_lap + corner * length;
    double mean = average(channel.trace, from, from + length);
    return std::fabs(mean - usual[corner]);
}

std::vector<double> usual_corners(const Channel &channel, std::size_t laps)
{
    std::vector<double> usual(corners);
    std::size_t length = samples_per_lap / corners;
    for (std::size_t corner = 0; corner < corners; corner++) {
        for (std::size_t lap = 0; lap < laps; lap++) {
            std::size_t from = lap * samples_per_lap + corner * length;
            usual[corner] += average(channel.trace, from, from + length);
        }
        usual[corner] /= static_cast<double>(laps);
    }
    return usual;
}

}  // namespace

int main(int argc, char **argv)
{
    std::size_t laps = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 60;
    int passes = argc > 2 ? std::atoi(argv[2]) : 50;
    std::vector<Channel> log = read_log(laps);
    std::vector<double> worst(corners);
    for (int pass = 0; pass < passes; pass++) {
        for (const Channel &channel : log) {
            std::vector<double> usual = usual_corners(channel, laps);
            for (std::size_t lap = 0; lap < laps; lap++)
                for (std::size_t corner = 0; corner < corners; corner++)
                    worst[corner] += score(channel, lap, corner, usual);
        }
    }
    double sum = 0.0;
    for (std::size_t corner = 0; corner < corners; corner++)
        sum += worst[corner] * static_cast<double>(corner + 1);
    std::printf("%.6f\n", sum);
    return 0;
}
