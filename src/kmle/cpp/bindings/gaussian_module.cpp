// Many small full Gaussians: natural parameters from moments, and log-normalizers. For a few columns a call of LAPACK
// per matrix costs far more than the matrix.
//
// Symmetric matrices are packed as in numerics/packing.py: the upper triangle, row by row; natural parameters have
// their off-diagonal entries doubled.

#include "bindings/modules.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bindings/gaussian_steps.hpp"
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
        out.data()[m] = gaussian_log_normalizer(natural.data() + m * n_statistics, d, matrix.data(), solved.data());
}

// One thread where there are fewer products than this.
constexpr std::size_t few_products = 50'000;

// A step of mixtures of k components each from counts (S, k) and sums (S k, D), see make_step. Returns whether all
// estimates could be made.
bool step(const Matrix<const double>& counts, const Matrix<const double>& sums, const Matrix<const double>& before,
          const Matrix<const double>& weights_before, const Vector<const double>& factors,
          const given::StepSetting& setting, const given::MixtureStep& out) {
    const std::size_t mixtures = counts.shape(0), k = counts.shape(1), n_statistics = setting.n_statistics();
    for (const auto& table : {sums, before}) require_shape("sums and before", table, {mixtures * k, n_statistics});
    require_shape("weights_before", weights_before, {mixtures, k});
    require_shape("factors", factors, {mixtures});
    require_shape("natural", out.natural, {mixtures * k, n_statistics});
    require_shape("log_weights", out.log_weights, {mixtures, k});
    setting.require_fit(k);
    const nb::gil_scoped_release unlocked;
    return make_step(setting.view(), {mixtures, k, counts.data(), sums.data(), before.data(), weights_before.data(),
                                      factors.data(), out.natural.data(), out.log_weights.data(), out.beyond.data(),
                                      out.weights_beyond.data(), out.bias.data(), out.penalty.data(), out.size.data()});
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
    Pool::run((mixtures + at_once - 1) / at_once, mixtures * k * d * d * d < few_products ? 1 : threads,
              [&](std::size_t t) {
                  StructuredEstimate estimate(d, k, spread.data(), smallest, rounding);
                  for (std::size_t s = t * at_once; s < std::min((t + 1) * at_once, mixtures); ++s) {
                      const double* start = from_before ? before.data() + s * k * D : nullptr;
                      safe.data()[s] = estimate.run(covariance_models[models.data()[s]], counts.data() + s * k,
                                                    moments.data() + s * k * D, start, out.data() + s * k * D);
                  }
              });
}

template <class T>
void define_steps(nb::class_<PackedRows<T>>& rows) {
    rows.def("gaussian_steps", &gaussian_steps<T>, nb::arg("mixtures"), nb::arg("setting"), nb::arg("pace"),
             nb::arg("work"));
}

}  // namespace

void define_gaussian(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                     nb::class_<PackedRows<float>>& singles) {
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
    nb::class_<given::StepSetting>(module, "StepSetting")
        .def(nb::init<const Vector<const double>&, const Vector<const double>&, const Vector<const double>&,
                      const Vector<const double>&, double, double, double, double, double, double, std::size_t,
                      const Vector<const double>&, const Vector<const double>&>(),
             nb::arg("prior_moment").noconvert(), nb::arg("largest").noconvert(), nb::arg("spread").noconvert(),
             nb::arg("center").noconvert(), nb::arg("prior_strength"), nb::arg("prior_top"), nb::arg("smallest"),
             nb::arg("rounding"), nb::arg("spread_rounding"), nb::arg("far"), nb::arg("threads"),
             nb::arg("variances").noconvert(), nb::arg("held").noconvert());
    nb::class_<given::MixtureStep>(module, "MixtureStep")
        .def(nb::init<const Matrix<double>&, const Matrix<double>&, const Matrix<double>&, const Matrix<double>&,
                      const Matrix<double>&, const Vector<double>&, const Vector<double>&>(),
             nb::arg("natural").noconvert(), nb::arg("log_weights").noconvert(), nb::arg("beyond").noconvert(),
             nb::arg("weights_beyond").noconvert(), nb::arg("bias").noconvert(), nb::arg("penalty").noconvert(),
             nb::arg("size").noconvert());
    module.def("gaussian_step", &step, nb::arg("counts").noconvert(), nb::arg("sums").noconvert(),
               nb::arg("before").noconvert(), nb::arg("weights_before").noconvert(), nb::arg("factors").noconvert(),
               nb::arg("setting"), nb::arg("out"));
    nb::class_<given::Mixtures>(module, "Mixtures")
        .def(nb::init<const Matrix<double>&, const Matrix<double>&, const Matrix<double>&, const Matrix<double>&,
                      const Matrix<double>&, const Matrix<double>&, const Vector<double>&, const Vector<double>&,
                      const Vector<std::int64_t>&>(),
             nb::arg("natural").noconvert(), nb::arg("log_weights").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert(), nb::arg("before").noconvert(), nb::arg("weights_before").noconvert(),
             nb::arg("objective").noconvert(), nb::arg("gain").noconvert(), nb::arg("streak").noconvert());
    nb::class_<given::Pace>(module, "Pace")
        .def(nb::init<std::size_t, std::size_t, std::size_t, double, double, double, double, double, double, double,
                      double, double, double>(),
             nb::arg("steps"), nb::arg("later"), nb::arg("kept"), nb::arg("cost"), nb::arg("limit"), nb::arg("least"),
             nb::arg("converged"), nb::arg("patience"), nb::arg("delay"), nb::arg("largest_factor"), nb::arg("offset"),
             nb::arg("most_rounding"), nb::arg("work_at_once"));
    define_steps(doubles);
    define_steps(singles);
}

}  // namespace kmle
