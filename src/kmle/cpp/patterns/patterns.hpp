// Gaussians as rows see them that all lack the same columns, and what such rows add up to once their missing entries
// are expected (Orchard and Woodbury 1972).
//
// Statistics are those of all columns, with zeros for missing entries: the dense passes serve every pattern.

#pragma once

#include <cstddef>

namespace kmle {

// Means and covariances by entries: [column][component] and [column][column][component]. Components are padded to
// `padded` of them, which vectors of every width divide, by legal ones.
struct LaneGaussians {
    std::size_t columns, padded;
    const double *mean, *covariance;
};

// Which columns rows have, and which they lack.
struct Pattern {
    const std::size_t *observed, *missing;
    std::size_t n_observed, n_missing;
};

// The marginals of the observed columns, all [...][component]: natural parameters [statistic], the log-densities at
// zero, and the inverses [observed][observed] of the lower Cholesky factors of their covariances. NaN where there are
// none.
struct Marginals {
    double *natural, *constant, *inverse;
};

// What rows add up to: counts [component] and sums [component][statistic]; and to what expectations are added: rows
// less the means, [column][component], and their products, [column][column][component].
struct Completion {
    const double *counts, *sums;
    std::size_t components, n_statistics;
    double *delta, *scatter;
};

}  // namespace kmle
