// Many small full Gaussians: natural parameters from moments, and log-normalizers. For a few columns a call of LAPACK
// per matrix costs far more than the matrix.
//
// Symmetric matrices are packed as in numerics/packing.py: the upper triangle, row by row; natural parameters have
// their off-diagonal entries doubled.

#include "bindings/modules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bindings/arrays.hpp"
#include "core/chosen.hpp"
#include "core/pool.hpp"
#include "gaussian/gaussian_step.hpp"
#include "gaussian/small_matrices.hpp"
#include "gaussian/structured.hpp"
#include "gaussian/widening.hpp"

namespace kmle {
namespace {

std::size_t n_statistics_of(std::size_t columns) { return columns + columns * (columns + 1) / 2; }

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
    std::vector<double> matrix(d * d), solved(d);
    for (std::size_t m = 0; m < natural.shape(0); ++m)
        out.data()[m] =
            gaussian_log_normalizer(natural.data() + m * n_statistics, d, matrix.data(), solved.data());
}

// One thread where there are fewer products than this.
constexpr std::size_t fewest_products = 50'000;

// Log-weights of one mixture: of its counts, and beyond those by a share of their change. All are -inf without counts.
void weigh(const double* counts, const double* before, double factor, std::size_t k, double* log_weights,
           double* beyond) {
    double total = 0.0, most = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (std::size_t j = 0; j < k; ++j) total += counts[j];
    for (std::size_t j = 0; j < k; ++j) {
        beyond[j] = log_weights[j] = std::log(counts[j] / std::max(total, 1e-300));
        if (factor > 0.0) beyond[j] += factor * (log_weights[j] - before[j]);
        if (std::isnan(beyond[j])) beyond[j] = -std::numeric_limits<double>::infinity();
        most = std::max(most, beyond[j]);
    }
    if (!(factor > 0.0)) return;
    for (std::size_t j = 0; j < k; ++j) sum += std::exp(beyond[j] - most);
    for (std::size_t j = 0; j < k; ++j) beyond[j] -= most + std::log(sum);
}

// A step of mixtures of k components each, [mixture][component]: estimates of their counts and sums, points beyond them
// by a factor for each mixture, and what a pass with those asks: biases, what the prior says of them, and bounds on the
// rounding of scores but for the factor epsilon. Returns whether all estimates could be made.
bool step(const Matrix<const double>& counts, const Matrix<const double>& sums, const Matrix<const double>& before,
          const Matrix<const double>& weights_before, const Vector<const double>& factors,
          const Vector<const double>& prior_moment, double prior_strength, double prior_top,
          const Vector<const double>& largest, const Vector<const double>& spread, const Vector<const double>& center,
          double smallest, double rounding, double spread_rounding, double far, std::size_t threads,
          const Matrix<double>& natural, const Matrix<double>& log_weights, const Matrix<double>& beyond,
          const Matrix<double>& weights_beyond, const Matrix<double>& bias, const Vector<double>& penalty,
          const Vector<double>& size) {
    const nb::gil_scoped_release unlocked;
    const std::size_t mixtures = counts.shape(0), k = counts.shape(1), m = mixtures * k, d = spread.shape(0);
    const std::size_t n_statistics = n_statistics_of(d);
    for (const auto& table : {sums, before}) require_shape("sums and before", table, {m, n_statistics});
    for (const auto& table : {natural, beyond}) require_shape("natural and beyond", table, {m, n_statistics});
    require_shape("weights_before", weights_before, {mixtures, k});
    for (const auto& table : {log_weights, weights_beyond, bias})
        require_shape("log_weights, weights_beyond and bias", table, {mixtures, k});
    require_shape("factors", factors, {mixtures});
    for (const auto& line : {prior_moment, largest}) require_shape("prior_moment and largest", line, {n_statistics});
    require_shape("center", center, {d});
    for (const auto& line : {penalty, size}) require_shape("penalty and size", line, {mixtures});
    std::vector<double> each(4 * m);
    std::vector<std::uint8_t> safe(m);
    double *own = each.data(), *normalizers = own + m, *fits = normalizers + m, *sizes = fits + m;
    for (std::size_t j = 0; j < m; ++j) own[j] = factors.data()[j / k];
    const GaussianStep all{d,
                           n_statistics,
                           m,
                           counts.data(),
                           sums.data(),
                           before.data(),
                           own,
                           prior_moment.data(),
                           largest.data(),
                           spread.data(),
                           center.data(),
                           prior_strength,
                           smallest,
                           rounding,
                           spread_rounding,
                           far,
                           natural.data(),
                           beyond.data(),
                           normalizers,
                           fits,
                           sizes,
                           safe.data()};
    constexpr std::size_t at_once = 16;
    Pool::run((m + at_once - 1) / at_once, m * d * d * d < fewest_products ? 1 : threads,
              [&](std::size_t t) { chosen->gaussian_step(all, t * at_once, std::min((t + 1) * at_once, m)); });
    for (std::size_t s = 0; s < mixtures; ++s) {
        const std::size_t first = s * k;
        weigh(counts.data() + first, weights_before.data() + first, factors.data()[s], k, log_weights.data() + first,
              weights_beyond.data() + first);
        double low = 0.0, large = 0.0;
        for (std::size_t j = first; j < first + k; ++j) {
            const double weight = weights_beyond.data()[j];
            bias.data()[j] = weight - normalizers[j];
            if (weight == -std::numeric_limits<double>::infinity()) {
                bias.data()[j] = weight;
                continue;
            }
            // NaN is not below zero: a mixture with such a component is one by its bias.
            const double fit = fits[j] - normalizers[j] - prior_top;
            if (fit < 0.0) low += fit;
            large = std::max(large, sizes[j] + std::abs(bias.data()[j]));
        }
        penalty.data()[s] = low;
        size.data()[s] = large;
    }
    return std::all_of(safe.begin(), safe.end(), [](std::uint8_t good) { return good != 0; });
}

// Natural parameters (S k, D) of S mixtures of k components under covariance models, from counts (S, k) and moments
// (S k, D), and which mixtures (S,) are safe: the others, at or near a bound, are left to the caller. Turns begin at
// `before` (S k, D), or at what components would be alone where it is empty.
void structured(const Vector<const std::int32_t>& models, const Matrix<const double>& counts,
                const Matrix<const double>& moments, const Matrix<const double>& before,
                const Vector<const double>& spread, double smallest, double rounding, std::size_t threads,
                const Matrix<double>& out, const Vector<std::uint8_t>& safe) {
    const nb::gil_scoped_release unlocked;
    const std::size_t d = spread.shape(0), mixtures = counts.shape(0), k = counts.shape(1), D = n_statistics_of(d);
    require(d > 0, "spread must have at least one column.");
    require_shape("models", models, {mixtures});
    require_shape("moments", moments, {mixtures * k, D});
    require_shape("natural", out, {mixtures * k, D});
    require_shape("safe", safe, {mixtures});
    const bool from_before = before.shape(0) > 0;
    if (from_before) require_shape("before", before, {mixtures * k, D});
    require_below("models", models, n_covariance_models, false);
    require(threads > 0, "threads must be at least one.");
    constexpr std::size_t at_once = 4;
    Pool::run((mixtures + at_once - 1) / at_once, mixtures * k * d * d * d < fewest_products ? 1 : threads,
              [&](std::size_t t) {
                  StructuredEstimate estimate(d, k, spread.data(), smallest, rounding);
                  for (std::size_t s = t * at_once; s < std::min((t + 1) * at_once, mixtures); ++s) {
                      const double* start = from_before ? before.data() + s * k * D : nullptr;
                      safe.data()[s] = estimate.run(covariance_models[models.data()[s]], counts.data() + s * k,
                                                    moments.data() + s * k * D, start, out.data() + s * k * D);
                  }
              });
}

}  // namespace

void define_gaussian(nb::module_& module) {
    module.def("gaussian_natural", &natural, nb::arg("moments").noconvert(), nb::arg("spread").noconvert(),
               nb::arg("smallest"), nb::arg("rounding"), nb::arg("natural").noconvert(), nb::arg("safe").noconvert());
    module.def("gaussian_has_spread", &has_spread, nb::arg("natural").noconvert(), nb::arg("spread").noconvert(),
               nb::arg("rounding"), nb::arg("wide").noconvert());
    module.def("gaussian_log_normalizer", &log_normalizer, nb::arg("natural").noconvert(), nb::arg("columns"),
               nb::arg("values").noconvert());
    module.def("structured_natural", &structured, nb::arg("models").noconvert(), nb::arg("counts").noconvert(),
               nb::arg("moments").noconvert(), nb::arg("before").noconvert(), nb::arg("spread").noconvert(),
               nb::arg("smallest"), nb::arg("rounding"), nb::arg("threads"), nb::arg("natural").noconvert(),
               nb::arg("safe").noconvert());
    module.def("gaussian_step", &step, nb::arg("counts").noconvert(), nb::arg("sums").noconvert(),
               nb::arg("before").noconvert(), nb::arg("weights_before").noconvert(), nb::arg("factors").noconvert(),
               nb::arg("prior_moment").noconvert(), nb::arg("prior_strength"), nb::arg("prior_top"),
               nb::arg("largest").noconvert(), nb::arg("spread").noconvert(), nb::arg("center").noconvert(),
               nb::arg("smallest"), nb::arg("rounding"), nb::arg("spread_rounding"), nb::arg("far"), nb::arg("threads"),
               nb::arg("natural").noconvert(), nb::arg("log_weights").noconvert(), nb::arg("beyond").noconvert(),
               nb::arg("weights_beyond").noconvert(), nb::arg("bias").noconvert(), nb::arg("penalty").noconvert(),
               nb::arg("size").noconvert());
}

}  // namespace kmle
