// Covariances no narrower than a spread: eigenvalues, in units of the spread, are raised to one.

#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace kmle {

// Eigenvalues and eigenvectors of a small symmetric d x d matrix by Jacobi's cyclic rotations (Golub and Van
// Loan, 8.5). The values are on the diagonal of `a` afterwards, the vectors in the columns of `vectors`.
inline void diagonalize(double* a, double* vectors, std::size_t d) {
    constexpr int most_sweeps = 30;
    constexpr double rounding = 1e-30;  // of squares
    for (std::size_t i = 0; i < d * d; ++i) vectors[i] = i % (d + 1) == 0 ? 1.0 : 0.0;
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
        double beside = 0.0, on = 0.0;
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = 0; j <= i; ++j) (i == j ? on : beside) += a[i * d + j] * a[i * d + j];
        if (!(beside > rounding * on)) return;
        for (std::size_t p = 0; p + 1 < d; ++p)
            for (std::size_t q = p + 1; q < d; ++q) {
                const double entry = a[q * d + p];
                if (entry == 0.0) continue;
                const double ratio = (a[q * d + q] - a[p * d + p]) / (2.0 * entry);
                // Where the square of the ratio is infinite the tangent is zero.
                const double tangent = (ratio >= 0.0 ? 1.0 : -1.0) / (std::abs(ratio) + std::sqrt(ratio * ratio + 1.0));
                const double cosine = 1.0 / std::sqrt(tangent * tangent + 1.0), sine = tangent * cosine;
                for (std::size_t i = 0; i < d; ++i) {
                    const double left = a[i * d + p], right = a[i * d + q];
                    a[i * d + p] = cosine * left - sine * right;
                    a[i * d + q] = sine * left + cosine * right;
                }
                for (std::size_t i = 0; i < d; ++i) {
                    const double left = a[p * d + i], right = a[q * d + i];
                    a[p * d + i] = cosine * left - sine * right;
                    a[q * d + i] = sine * left + cosine * right;
                    const double first = vectors[i * d + p], second = vectors[i * d + q];
                    vectors[i * d + p] = cosine * first - sine * second;
                    vectors[i * d + q] = sine * first + cosine * second;
                }
            }
    }
}

// Raises the eigenvalues of a covariance, whose lower triangle is given, to at least one in units of a positive spread.
inline void widen(double* a, const double* spread, std::size_t d, std::vector<double>& space) {
    space.resize(2 * d * d);
    double *scaled = space.data(), *vectors = scaled + d * d;
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            scaled[i * d + j] = scaled[j * d + i] = a[i * d + j] / (spread[i] * spread[j]);
    diagonalize(scaled, vectors, d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (std::size_t l = 0; l < d; ++l) {
                const double value = scaled[l * d + l] > 1.0 ? scaled[l * d + l] : 1.0;
                sum += vectors[i * d + l] * value * vectors[j * d + l];
            }
            a[i * d + j] = sum * spread[i] * spread[j];
        }
}

}  // namespace kmle
