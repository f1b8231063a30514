// Components with heavy tails: multivariate t distributions, and Gaussians as their limit.
//
// A row x has the score constant_j - (degrees_j + d) / 2 log(1 + q / degrees_j) with component j, where q = |W_j (x -
// m_j)|^2. Estimates weight it by its expected hidden scale u = (degrees_j + d) / (degrees_j + q) (EM, Dempster, Laird
// and Rubin 1980; Peel and McLachlan 2000).

#pragma once

#include "core/packed.hpp"

namespace kmle {

struct Tailed {
    const double* location;   // [component][column]: m
    const double* whitening;  // [component]: the lower triangle of W, row after row
    const double* degrees;    // [component]; infinite for Gaussians, whose score is constant_j - q / 2
    const double* constant;   // [component]; -inf where inactive
    std::size_t components, columns;

    std::size_t triangle() const { return columns * (columns + 1) / 2; }
    // Of each component: sums of r, r u, r log(1 + q / degrees), then of r u y and of r u y y' (lower triangle), r
    // being weighted responsibilities and y = W (x - m).
    std::size_t cells() const { return 3 + columns + triangle(); }
    bool active(std::size_t j) const { return constant[j] >= std::numeric_limits<double>::lowest(); }
};

// Blocks of rows, and what they add up to. Sums start at zero.
struct TailsTask {
    std::size_t first_block, last_block;
    std::size_t kept;       // how many responsibilities of a row count
    std::int32_t* labels;   // [row]: receives the best components, which then have all of the row; null: soft
    double* sums;           // [component][cell]; null: not wanted
    double score, entropy;  // as in SoftTask
};

// Rows whose scores with the components of their labels are added up. Totals start at zero.
struct TailsOwnTask {
    std::size_t first_block, last_block;
    const std::int32_t* labels;  // [row]; rows with negative labels are skipped
    double* totals;              // [component]
};

}  // namespace kmle
