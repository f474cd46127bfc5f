#pragma once
#include <cstddef>
#include <vector>

/** What a lap's trace of a channel comes to. */
struct Summary {
    double mean, deviation, skewness, kurtosis, least, most, integral;
};

Summary summarise(const std::vector<float> &trace, std::size_t from, std::size_t to);
double average(const std::vector<float> &trace, std::size_t from, std::size_t to);
