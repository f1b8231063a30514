// Many small full Gaussians: natural parameters from moments, and log-normalizers. For a few columns a call of LAPACK
// per matrix costs far more than the matrix.
//
// Symmetric matrices are packed as in numerics/packing.py: the upper triangle, row by row; natural parameters have
// their off-diagonal entries doubled.

#include "bindings/gaussian_module.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bindings/arrays.hpp"
#include "gaussian/widening.hpp"

namespace kmle {
namespace {

std::size_t n_statistics_of(std::size_t columns) { return columns + columns * (columns + 1) / 2; }

// The lower Cholesky factor in place of the lower triangle of a d x d matrix; false where there is none.
bool factor(double* a, std::size_t d) {
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
void invert_lower(double* a, std::size_t d) {
    for (std::size_t j = 0; j < d; ++j) {
        a[j * d + j] = 1.0 / a[j * d + j];
        for (std::size_t i = j + 1; i < d; ++i) {
            double sum = 0.0;
            for (std::size_t l = j; l < i; ++l) sum -= a[i * d + l] * a[l * d + j];
            a[i * d + j] = sum / a[i * d + i];
        }
    }
}

// Whether a symmetric matrix minus diag(spread^2) is positive definite; `space` holds d * d numbers.
bool is_above(const double* a, const double* spread, std::size_t d, double* space) {
    for (std::size_t i = 0; i < d * d; ++i) space[i] = a[i];
    bool any = false;
    for (std::size_t i = 0; i < d; ++i) {
        space[i * d + i] -= spread[i] * spread[i];
        any = any || spread[i] > 0.0;
    }
    return !any || factor(space, d);
}

// Natural parameters of moments (m, D) of d columns. Covariances narrower than a positive spread are widened to it.
// `safe` is 0 where one is close to singular: it minus diag(spread^2) is not positive definite and a spread is zero,
// the square of a diagonal entry of its factor is at most `smallest` of the variance, or a variance at most `rounding`
// of the second moment. Those are left to the caller.
void natural(const Matrix<const double>& moments, const Vector<const double>& spread, double smallest, double rounding,
             const Matrix<double>& out, const Vector<std::uint8_t>& safe) {
    const nb::gil_scoped_release unlocked;
    const std::size_t d = spread.shape(0), n_statistics = moments.shape(1);
    require_shape("moments", moments, {moments.shape(0), n_statistics_of(d)});
    require_shape("natural", out, {moments.shape(0), n_statistics});
    require_shape("safe", safe, {moments.shape(0)});
    std::vector<double> matrix(d * d), space(d * d), variances(d);
    double* a = matrix.data();
    bool all_spread = true;
    for (std::size_t i = 0; i < d; ++i) all_spread = all_spread && spread.data()[i] > 0.0;
    for (std::size_t m = 0; m < moments.shape(0); ++m) {
        const double *mean = moments.data() + m * n_statistics, *second = mean + d;
        bool good = true;
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = i; j < d; ++j) a[j * d + i] = *second++ - mean[i] * mean[j];
            good = good && a[i * d + i] > rounding * (a[i * d + i] + mean[i] * mean[i]);
        }
        if (good && !is_above(a, spread.data(), d, space.data())) {
            good = all_spread;
            if (good) widen(a, spread.data(), d, space);
        }
        for (std::size_t i = 0; i < d; ++i) variances[i] = a[i * d + i];
        good = good && factor(a, d);
        for (std::size_t i = 0; good && i < d; ++i) good = a[i * d + i] * a[i * d + i] > smallest * variances[i];
        safe.data()[m] = good;
        if (!good) continue;
        invert_lower(a, d);
        double *linear = out.data() + m * n_statistics, *packed = linear + d;
        for (std::size_t i = 0; i < d; ++i) linear[i] = 0.0;
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = i; j < d; ++j) {
                double precision = 0.0;
                for (std::size_t l = j; l < d; ++l) precision += a[l * d + i] * a[l * d + j];
                linear[i] += precision * mean[j];
                if (i != j) linear[j] += precision * mean[i];
                *packed++ = i == j ? -0.5 * precision : -precision;
            }
    }
}

// Which natural parameters (m, D) have covariances no narrower than the spread: identity minus the precision, in units
// of the spread, is positive semidefinite but for rounding.
void has_spread(const Matrix<const double>& natural, const Vector<const double>& spread, double rounding,
                const Vector<std::uint8_t>& wide) {
    const nb::gil_scoped_release unlocked;
    const std::size_t d = spread.shape(0), n_statistics = natural.shape(1);
    require_shape("natural", natural, {natural.shape(0), n_statistics_of(d)});
    require_shape("wide", wide, {natural.shape(0)});
    std::vector<double> matrix(d * d);
    double* a = matrix.data();
    for (std::size_t m = 0; m < natural.shape(0); ++m) {
        const double* packed = natural.data() + m * n_statistics + d;
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = i; j < d; ++j, ++packed)
                a[j * d + i] = (i == j ? 1.0 + rounding + 2.0 * *packed * spread.data()[i] * spread.data()[j]
                                       : *packed * spread.data()[i] * spread.data()[j]);
        wide.data()[m] = factor(a, d);
    }
}

// F(theta) of natural parameters (m, D); NaN outside the natural parameter space.
void log_normalizer(const Matrix<const double>& natural, std::size_t d, const Vector<double>& out) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n_statistics = natural.shape(1);
    require(d <= n_statistics, "columns must not be more than natural has.");
    require_shape("natural", natural, {natural.shape(0), n_statistics_of(d)});
    require_shape("values", out, {natural.shape(0)});
    const double log_two_pi = std::log(2.0 * 3.14159265358979323846);
    std::vector<double> matrix(d * d), solved(d);
    double* a = matrix.data();
    for (std::size_t m = 0; m < natural.shape(0); ++m) {
        const double *linear = natural.data() + m * n_statistics, *packed = linear + d;
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = i; j < d; ++j, ++packed) a[j * d + i] = i == j ? -2.0 * *packed : -*packed;
        if (!factor(a, d)) {
            out.data()[m] = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        double value = 0.0;
        for (std::size_t i = 0; i < d; ++i) {
            double sum = linear[i];
            for (std::size_t l = 0; l < i; ++l) sum -= a[i * d + l] * solved[l];
            solved[i] = sum / a[i * d + i];
            value += 0.5 * (solved[i] * solved[i] + log_two_pi) - std::log(a[i * d + i]);
        }
        out.data()[m] = value;
    }
}

}  // namespace

void define_gaussian(nb::module_& module) {
    module.def("gaussian_natural", &natural, nb::arg("moments").noconvert(), nb::arg("spread").noconvert(),
               nb::arg("smallest"), nb::arg("rounding"), nb::arg("natural").noconvert(), nb::arg("safe").noconvert());
    module.def("gaussian_has_spread", &has_spread, nb::arg("natural").noconvert(), nb::arg("spread").noconvert(),
               nb::arg("rounding"), nb::arg("wide").noconvert());
    module.def("gaussian_log_normalizer", &log_normalizer, nb::arg("natural").noconvert(), nb::arg("columns"),
               nb::arg("values").noconvert());
}

}  // namespace kmle
