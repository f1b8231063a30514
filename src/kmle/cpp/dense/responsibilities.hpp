// From the scores of `soft_rows` rows, [component][row], to their best components or responsibilities.

#pragma once

#include "dense/log_likelihood.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Keeps the largest `kept` scores of one row (a column of `scores`), lowest indices first among equals.
inline void keep_largest(double* scores, std::size_t components, std::size_t kept, double* scratch) {
    for (std::size_t j = 0; j < components; ++j) scratch[j] = scores[j * soft_rows];
    std::nth_element(scratch, scratch + kept - 1, scratch + components, [](double a, double b) { return a > b; });
    const double least = scratch[kept - 1];
    std::size_t above = 0;
    for (std::size_t j = 0; j < components; ++j) above += scores[j * soft_rows] > least;
    for (std::size_t j = 0; j < components; ++j) {
        double& score = scores[j * soft_rows];
        if (score > least) continue;
        if (score == least && above < kept)
            ++above;
        else
            score = -std::numeric_limits<double>::infinity();
    }
}

// The best component of each of `soft_rows` rows, the lowest index on a tie, and its score.
inline void find_best(const double* scores, std::size_t components, std::int32_t* labels, double* tops) {
    constexpr std::size_t width = lanes<double>;
    for (std::size_t r = 0; r < soft_rows; r += width) {
        Vec<double> top = load(scores + r);
        IntVec<double> label{};
        for (std::size_t j = 1; j < components; ++j) {
            const Vec<double> score = load(scores + j * soft_rows + r);
            const IntVec<double> better = score > top;
            top = better ? score : top;
            label = better ? IntVec<double>{} + static_cast<std::int64_t>(j) : label;
        }
        store(tops + r, top);
        for (std::size_t lane = 0; lane < width; ++lane) labels[r + lane] = static_cast<std::int32_t>(label[lane]);
    }
}

// Turns the scores of `soft_rows` rows, too low by `lifts` where there are any, into responsibilities times weights.
inline void to_responsibilities(double* scores, std::size_t components, const double* weights, std::size_t count,
                                const double* lifts, LogLikelihood& log_likelihood) {
    constexpr std::size_t width = lanes<double>;
    const bool whole = !weights && count == soft_rows;
    for (std::size_t r = 0; r < soft_rows; r += strip * width) {
        Vec<double> top[strip], total[strip]{}, factor[strip];
        highest_of(scores + r, components, top);
        for (std::size_t j = 0; j < components; ++j) {
            double* place = scores + j * soft_rows + r;
            Vec<double> e[strip];
            for (std::size_t v = 0; v < strip; ++v) e[v] = load(place + v * width) - top[v];
            exp_negative(e);
            for (std::size_t v = 0; v < strip; ++v) {
                store(place + v * width, e[v]);
                total[v] += e[v];
            }
        }
        Vec<double> logs[strip];
        for (std::size_t v = 0; v < strip; ++v) logs[v] = total[v];
        if (!whole) log_above_one(logs);
        for (std::size_t v = 0; v < strip; ++v) {
            Vec<double> weight = broadcast(1.0);
            if (lifts) top[v] += load(lifts + r + v * width);
            if (whole) {
                log_likelihood.add(top[v], total[v]);
            } else {
                for (std::size_t lane = 0, i = r + v * width; lane < width; ++lane, ++i)
                    weight[lane] = i >= count ? 0.0 : weights ? weights[i] : 1.0;
                log_likelihood.add_weighted(weight, top[v], logs[v]);
            }
            factor[v] = weight / total[v];
        }
        for (std::size_t j = 0; j < components; ++j)
            for (std::size_t v = 0; v < strip; ++v) {
                double* place = scores + j * soft_rows + r + v * width;
                store(place, load(place) * factor[v]);
            }
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
