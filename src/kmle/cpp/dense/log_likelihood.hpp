// The log-likelihood of rows, and the entropy of their responsibilities, from their scores.

#pragma once

#include <cmath>
#include <type_traits>

#include "dense/tile.hpp"

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

// Sums over the scores of rows: the highest ones, logarithms of sums of exponentials below those, and,
// where asked for, the mean of a row's scores below the highest by responsibility.
class LogLikelihood {
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
    // The same with weights and logarithms of totals; rows of no weight are left out.
    void add_weighted(Vec<double> weight, Vec<double> top, Vec<double> logs) {
        tops_ += weight > Vec<double>{} ? weight * top : Vec<double>{};
        weighted_logs_ += weight > Vec<double>{} ? weight * logs : Vec<double>{};
    }
    void add_best(double weight, double top) { rest_ += weight * top; }
    void add_row(double weight, double top, double total, double below = 0.0) {
        rest_ += weight * top;
        logs_.add(total, weight);
        rest_below_ += weight * (below / total);
    }
    // Weighted sums over the rows of log-likelihood, and of the entropy of their responsibilities.
    template <class Task>
    void finish(Task& task) {
        const double logs = logs_.sum() + sum_of_lanes(weighted_logs_);
        task.score = sum_of_lanes(tops_) + rest_ + logs;
        task.entropy = logs - (sum_of_lanes(below_) + rest_below_);
    }

private:
    Vec<double> tops_{}, below_{}, weighted_logs_{};
    LogSum logs_;
    double rest_ = 0.0, rest_below_ = 0.0;
};

// Calls `work(first, members)` for groups of 0, 1, 2, ... up to `count`; the size of a group is known when compiling.
template <class Work>
inline void in_groups(std::size_t count, const Work& work) {
    const std::size_t whole = count / group * group;
    for (std::size_t first = 0; first < whole; first += group)
        work(first, std::integral_constant<std::size_t, group>());
    switch (count - whole) {
        case 3: return work(whole, std::integral_constant<std::size_t, 3>());
        case 2: return work(whole, std::integral_constant<std::size_t, 2>());
        case 1: return work(whole, std::integral_constant<std::size_t, 1>());
    }
}

// Scores [component][row] of `soft_rows` rows with components in groups; what is wanted next is fetched on the way.
inline void score_rows(const double* statistics, std::size_t n_statistics, const double* grouped, const double* bias,
                       std::size_t components, double* scores, Fetching& next) {
    for (std::size_t r = 0; r < soft_rows; r += strip * lanes<double>)
        in_groups(components, [&](std::size_t j, auto members) {
            Vec<double> found[members][strip];
            next.step();
            score(statistics + r, soft_rows, n_statistics, grouped + j * n_statistics, bias + j, found);
            for (std::size_t g = 0; g < members; ++g)
                for (std::size_t v = 0; v < strip; ++v)
                    store(scores + (j + g) * soft_rows + r + v * lanes<double>, found[g][v]);
        });
}

// The highest score of each row of a strip.
inline void highest_of(const double* scores, std::size_t components, Vec<double> (&highest)[strip]) {
    for (std::size_t v = 0; v < strip; ++v) highest[v] = load(scores + v * lanes<double>);
    for (std::size_t j = 1; j < components; ++j)
        for (std::size_t v = 0; v < strip; ++v) {
            const Vec<double> s = load(scores + j * soft_rows + v * lanes<double>);
            highest[v] = s > highest[v] ? s : highest[v];
        }
}

// Scores so far below the highest add nothing to a sum in double precision.
constexpr double negligible = -45.0;

// Only the log-likelihood of rows, without responsibilities; their scores are too low by `lifts` where there are any.
inline void add_log_likelihood(const double* scores, std::size_t components, const double* weights, std::size_t count,
                               LogLikelihood& log_likelihood, const double* lifts = nullptr) {
    constexpr std::size_t width = lanes<double>;
    for (std::size_t r = 0; r < count; r += strip * width) {
        Vec<double> top[strip], total[strip]{}, below[strip]{};
        highest_of(scores + r, components, top);
        for (std::size_t j = 0; j < components; ++j) {
            Vec<double> bounded[strip], e[strip];
            IntVec<double> near{};
            for (std::size_t v = 0; v < strip; ++v) {
                const Vec<double> distance = load(scores + j * soft_rows + r + v * width) - top[v];
                const IntVec<double> counts = distance > broadcast(negligible);
                near |= counts;
                e[v] = bounded[v] = counts ? distance : broadcast(negligible);  // -inf times zero is NaN
            }
            if (!any(near)) continue;
            exp_negative(e);
            for (std::size_t v = 0; v < strip; ++v) {
                total[v] += e[v];
                below[v] += e[v] * bounded[v];
            }
        }
        for (std::size_t v = 0; v < strip && r + v * width < count; ++v) {
            const std::size_t first = r + v * width;
            if (lifts) top[v] += load(lifts + first);
            if (!weights && first + width <= count)
                log_likelihood.add(top[v], total[v], below[v]);
            else
                for (std::size_t lane = 0; lane < std::min(width, count - first); ++lane)
                    log_likelihood.add_row(weights ? weights[first + lane] : 1.0, top[v][lane], total[v][lane],
                                           below[v][lane]);
        }
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
