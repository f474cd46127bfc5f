#include "summary.h"

#include <algorithm>
#include <cmath>

Summary summarise(const std::vector<float> &trace, std::size_t from, std::size_t to)
{
    Summary result{};
    double count = static_cast<double>(to - from);
    result.least = result.most = trace[from];
    for (std::size_t at = from; at < to; at++)
        result.mean += trace[at];
    result.mean /= count;
    double second = 0.0, third = 0.0, fourth = 0.0;
    for (std::size_t at = from; at < to; at++) {
        double off = trace[at] - result.mean, square = off * off;
        second += square;
        third += square * off;
        fourth += square * square;
        result.least = std::min(result.least, static_cast<double>(trace[at]));
        result.most = std::max(result.most, static_cast<double>(trace[at]));
    }
    result.deviation = std::sqrt(second / count);
    double cube = result.deviation * result.deviation * result.deviation;
    result.skewness = cube > 0.0 ? third / count / cube : 0.0;
    result.kurtosis = cube > 0.0 ? fourth / count / (cube * result.deviation) : 0.0;
    result.integral = result.mean * count * 0.01;
    return result;
}

double average(const std::vector<float> &trace, std::size_t from, std::size_t to)
{
    double sum = 0.0;
    for (std::size_t at = from; at < to; at++)
        sum += trace[at];
    return sum / static_cast<double>(to - from);
}
