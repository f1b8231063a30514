// Axes that several covariances share, turned pair by pair, each time by the best angle. The formula is in
// families/covariance_models.py (turned_axes).

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kmle {

// Matrices are d x d, row by row.
inline void turn_columns(double* a, std::size_t d, std::size_t l, std::size_t m, double c, double s) {
    for (std::size_t p = 0; p < d; ++p) {
        const double one = a[p * d + l], other = a[p * d + m];
        a[p * d + l] = c * one + s * other;
        a[p * d + m] = c * other - s * one;
    }
}

inline void turn_rows(double* a, std::size_t d, std::size_t l, std::size_t m, double c, double s) {
    for (std::size_t p = 0; p < d; ++p) {
        const double one = a[l * d + p], other = a[m * d + p];
        a[l * d + p] = c * one + s * other;
        a[m * d + p] = c * other - s * one;
    }
}

// axes' A axes, in `seen`; `space` holds d * d numbers.
inline void see_along(const double* axes, const double* a, std::size_t d, double* space, double* seen) {
    for (std::size_t p = 0; p < d; ++p)
        for (std::size_t l = 0; l < d; ++l) {
            double sum = 0.0;
            for (std::size_t q = 0; q < d; ++q) sum += a[p * d + q] * axes[q * d + l];
            space[p * d + l] = sum;
        }
    for (std::size_t l = 0; l < d; ++l)
        for (std::size_t m = 0; m < d; ++m) {
            double sum = 0.0;
            for (std::size_t p = 0; p < d; ++p) sum += axes[p * d + l] * space[p * d + m];
            seen[l * d + m] = sum;
        }
}

// Turns each pair of axes by its best angle for k covariances, which are `seen` along the axes, with shares and
// variances (k, d) along them; returns the largest sine of twice an angle.
inline double turn_axes(double* axes, double* seen, const double* shares, const double* variances, std::size_t k,
                        std::size_t d) {
    double largest = 0.0;
    for (std::size_t l = 0; l + 1 < d; ++l)
        for (std::size_t m = l + 1; m < d; ++m) {
            double cosine = 0.0, sine = 0.0;
            for (std::size_t j = 0; j < k; ++j) {
                const double u = shares[j] * (1.0 / variances[j * d + l] - 1.0 / variances[j * d + m]);
                const double* a = seen + j * d * d;
                cosine += 0.5 * u * (a[l * d + l] - a[m * d + m]);
                sine += u * a[l * d + m];
            }
            if (cosine == 0.0 && sine == 0.0) continue;
            const double angle = 0.5 * std::atan2(-sine, -cosine);
            largest = std::max(largest, std::abs(std::sin(2.0 * angle)));
            const double c = std::cos(angle), s = std::sin(angle);
            turn_columns(axes, d, l, m, c, s);
            for (std::size_t j = 0; j < k; ++j) {
                turn_columns(seen + j * d * d, d, l, m, c, s);
                turn_rows(seen + j * d * d, d, l, m, c, s);
            }
        }
    return largest;
}

}  // namespace kmle
