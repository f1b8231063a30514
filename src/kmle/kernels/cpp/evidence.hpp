// What scores of rows add up to: their log evidence, and the entropy of their responsibilities.

#pragma once

#include <cmath>

#include "tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Soft passes work in double on this many rows at a time.
constexpr std::size_t soft_rows = block_rows<double>;

// The sum of weight * log(total) over rows, for totals of at least one: without weights, of products of many at a time.
class LogSum {
public:
    void add(Vec<double> totals) {
        product_ *= totals;
        if (any(product_ > broadcast(1e250))) flush();  // totals are at most the number of components
    }
    void add(double total, double weight) { sum_ += weight * std::log(total); }
    double sum() {
        flush();
        return sum_;
    }

private:
    void flush() {
        for (std::size_t lane = 0; lane < lanes<double>; ++lane) sum_ += std::log(product_[lane]);
        product_ = broadcast(1.0);
    }

    Vec<double> product_ = broadcast(1.0);
    double sum_ = 0.0;
};

// What is summed up over rows of their scores: the highest ones, logarithms of sums of exponentials below those, and,
// where asked for, the mean of a row's scores below the highest by responsibility.
class Evidence {
public:
    // Rows of a whole strip without weights.
    void add(Vec<double> top, Vec<double> total) {
        tops_ += top;
        logs_.add(total);
    }
    void add(Vec<double> top, Vec<double> total, Vec<double> below) {
        add(top, total);
        below_ += below / total;
    }
    void add_row(double weight, double top, double total, double below = 0.0) {
        rest_ += weight * top;
        logs_.add(total, weight);
        rest_below_ += weight * (below / total);
    }
    // Weighted sums over the rows of log evidence, and of the entropy of their responsibilities.
    void finish(SoftTask& task) {
        const double logs = logs_.sum();
        task.score = sum_of_lanes(tops_) + rest_ + logs;
        task.entropy = logs - (sum_of_lanes(below_) + rest_below_);
    }

private:
    Vec<double> tops_{}, below_{};
    LogSum logs_;
    double rest_ = 0.0, rest_below_ = 0.0;
};

inline Vec<double> highest_of(const double* scores, std::size_t components) {
    Vec<double> highest = load(scores);
    for (std::size_t j = 1; j < components; ++j) {
        const Vec<double> s = load(scores + j * soft_rows);
        highest = s > highest ? s : highest;
    }
    return highest;
}

// Scores so far below the highest add nothing to a sum in double precision.
constexpr double negligible = -45.0;

// Only the evidence of rows, without responsibilities.
inline void add_evidence(const double* scores, std::size_t components, const double* weights, std::size_t count,
                  Evidence& evidence) {
    constexpr std::size_t width = lanes<double>;
    for (std::size_t r = 0; r < count; r += width) {
        const Vec<double> top = highest_of(scores + r, components);
        Vec<double> total{}, below{};
        for (std::size_t j = 0; j < components; ++j) {
            const Vec<double> distance = load(scores + j * soft_rows + r) - top;
            const IntVec<double> counts = distance > broadcast(negligible);
            if (!any(counts)) continue;
            const Vec<double> bounded = counts ? distance : broadcast(negligible);  // -inf times zero is no number
            const Vec<double> e = exp_negative(bounded);
            total += e;
            below += e * bounded;
        }
        if (!weights && r + width <= count)
            evidence.add(top, total, below);
        else
            for (std::size_t lane = 0; lane < std::min(width, count - r); ++lane)
                evidence.add_row(weights ? weights[r + lane] : 1.0, top[lane], total[lane], below[lane]);
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
