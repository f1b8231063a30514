// A step of many full Gaussians at once: estimates from sums, points beyond them, and what a pass asks of those.

#pragma once

#include <cstddef>
#include <cstdint>

namespace kmle {

// Components of any mixtures. Symmetric matrices are packed as in numerics/packing.py.
struct GaussianStep {
    std::size_t columns, n_statistics, components;
    const double* counts;        // [component]
    const double* sums;          // [component][statistic]
    const double* before;        // [component][statistic]: the latest estimates
    const double* factors;       // [component]: how far beyond the estimates, in units of their last change; 0: nowhere
    const double* prior_moment;  // [statistic]
    const double* largest;       // [statistic]: bounds on |t(x)|
    const double* spread;        // [column]
    const double* center;        // [column]
    double prior_strength;
    double smallest, rounding, spread_rounding;  // see gaussian_module.cpp
    double far;                                  // see GaussianLimits
    double* natural;                             // [component][statistic]: the estimates
    double* beyond;       // [component][statistic]: the points beyond, estimates where those are too narrow
    double* normalizers;  // [component]: F of the points beyond; NaN outside the natural parameter space
    double* fits;         // [component]: <prior moment, point>
    double* sizes;        // [component]: <largest, |point|>
    std::uint8_t* safe;   // [component]: 0 where the estimate is left to others
};

}  // namespace kmle
