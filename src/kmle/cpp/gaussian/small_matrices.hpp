// Small d x d matrices, row by row: Cholesky factors and what follows from them.

#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace kmle {

// The lower Cholesky factor in place of the lower triangle of a d x d matrix; false where there is none.
inline bool factor(double* a, std::size_t d) {
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i * d + j];
            for (std::size_t l = 0; l < j; ++l) sum -= a[i * d + l] * a[j * d + l];
            if (i > j)
                a[i * d + j] = sum / a[j * d + j];
            else if (sum > 0.0)
                a[i * d + i] = std::sqrt(sum);
            else
                return false;
        }
    }
    return true;
}

// The inverse of a lower triangular matrix, in its place.
inline void invert_lower(double* a, std::size_t d) {
    for (std::size_t j = 0; j < d; ++j) {
        a[j * d + j] = 1.0 / a[j * d + j];
        for (std::size_t i = j + 1; i < d; ++i) {
            double sum = 0.0;
            for (std::size_t l = j; l < i; ++l) sum -= a[i * d + l] * a[l * d + j];
            a[i * d + j] = sum / a[i * d + i];
        }
    }
}

// The inverse of L L', from the inverse of L.
inline void multiply_inverse(const double* inverse, std::size_t d, double* out) {
    for (std::size_t p = 0; p < d; ++p)
        for (std::size_t q = p; q < d; ++q) {
            double sum = 0.0;
            for (std::size_t l = q; l < d; ++l) sum += inverse[l * d + p] * inverse[l * d + q];
            out[p * d + q] = out[q * d + p] = sum;
        }
}

// Whether a symmetric matrix minus diag(spread^2) is positive definite; `space` holds d * d numbers.
inline bool is_above(const double* a, const double* spread, std::size_t d, double* space) {
    for (std::size_t i = 0; i < d * d; ++i) space[i] = a[i];
    bool any = false;
    for (std::size_t i = 0; i < d; ++i) {
        space[i * d + i] -= spread[i] * spread[i];
        any = any || spread[i] > 0.0;
    }
    return !any || factor(space, d);
}

// F(theta) of a Gaussian, NaN outside the natural parameter space; `a` holds d * d numbers, `solved` d.
inline double gaussian_log_normalizer(const double* natural, std::size_t d, double* a, double* solved) {
    const double log_two_pi = std::log(2.0 * 3.14159265358979323846);
    const double* packed = natural + d;
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = i; j < d; ++j, ++packed) a[j * d + i] = i == j ? -2.0 * *packed : -*packed;
    if (!factor(a, d)) return std::numeric_limits<double>::quiet_NaN();
    double value = 0.0;
    for (std::size_t i = 0; i < d; ++i) {
        double sum = natural[i];
        for (std::size_t l = 0; l < i; ++l) sum -= a[i * d + l] * solved[l];
        solved[i] = sum / a[i * d + i];
        value += 0.5 * (solved[i] * solved[i] + log_two_pi) - std::log(a[i * d + i]);
    }
    return value;
}

}  // namespace kmle
