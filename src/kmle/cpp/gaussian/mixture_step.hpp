// A step of several Gaussian mixtures at once: estimates of their statistics, and points beyond them. Components are
// full Gaussians, or Gaussians of known variances, whose estimates are means.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/chosen.hpp"
#include "core/pool.hpp"
#include "gaussian/gaussian_step.hpp"

namespace kmle {

// What estimates depend on beside statistics; see GaussianStep.
struct StepSetting {
    std::size_t columns, n_statistics;
    const double *prior_moment, *largest, *spread, *center;
    double prior_strength, prior_top;
    double smallest, rounding, spread_rounding, far;
    std::size_t threads;
    const double* variances;  // [column]; null: full Gaussians
    const double* held;       // [component]: log-weights of components with rows; null: they are estimated
};

// Mixtures of as many components each, [mixture][component], and where their step goes.
struct MixtureStep {
    std::size_t mixtures, components;
    const double *counts, *sums, *before, *weights_before;
    const double* factors;                                    // [mixture]
    double *natural, *log_weights, *beyond, *weights_beyond;  // estimates, and points beyond them
    double* bias;                                             // of the points beyond
    double *penalty, *size;                                   // [mixture]
};

// Log-weights of one mixture: those held, or of its counts and beyond those by a share of their change. All are -inf
// without counts.
inline void weigh(const double* counts, const double* before, double factor, std::size_t k, const double* held,
                  double* log_weights, double* beyond) {
    for (std::size_t j = 0; held && j < k; ++j)
        beyond[j] = log_weights[j] = counts[j] > 0.0 ? held[j] : -std::numeric_limits<double>::infinity();
    if (held) return;
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

// Estimates of Gaussians of known variances, which all can be made.
inline void make_location_step(const GaussianStep& step, const double* variances) {
    const std::size_t d = step.columns;
    for (std::size_t j = 0; j < step.components; ++j) {
        const double total = step.counts[j] + step.prior_strength, divisor = total > 0.0 ? total : 1.0;
        double normalizer = 0.0, fit = 0.0, size = 0.0;
        for (std::size_t a = 0; a < d; ++a) {
            const std::size_t c = j * d + a;
            const double estimate =
                (step.sums[c] + step.prior_strength * step.prior_moment[a]) / divisor / variances[a];
            const double change = step.factors[j] > 0.0 ? step.factors[j] * (estimate - step.before[c]) : 0.0;
            const double point = estimate + change;
            step.natural[c] = estimate;
            step.beyond[c] = point;
            normalizer += 0.5 * point * variances[a] * point;
            fit += step.prior_moment[a] * point;
            size += step.largest[a] * std::abs(point);
        }
        step.normalizers[j] = normalizer;
        step.fits[j] = fit;
        step.sizes[j] = size;
        step.safe[j] = 1;
    }
}

// Estimates of the counts and sums, points beyond them by a factor for each mixture, and what a pass with those asks:
// biases, what the prior says of them, and bounds on the rounding of scores but for the factor epsilon. Returns whether
// all estimates could be made.
inline bool make_step(const StepSetting& setting, const MixtureStep& step) {
    // One thread where there are fewer products than this.
    constexpr std::size_t few_products = 50'000, at_once = 16;
    const std::size_t k = step.components, m = step.mixtures * k, d = setting.columns;
    std::vector<double> each(4 * m);
    std::vector<std::uint8_t> safe(m);
    double *own = each.data(), *normalizers = own + m, *fits = normalizers + m, *sizes = fits + m;
    for (std::size_t j = 0; j < m; ++j) own[j] = step.factors[j / k];
    const GaussianStep all{d,
                           setting.n_statistics,
                           m,
                           step.counts,
                           step.sums,
                           step.before,
                           own,
                           setting.prior_moment,
                           setting.largest,
                           setting.spread,
                           setting.center,
                           setting.prior_strength,
                           setting.smallest,
                           setting.rounding,
                           setting.spread_rounding,
                           setting.far,
                           step.natural,
                           step.beyond,
                           normalizers,
                           fits,
                           sizes,
                           safe.data()};
    if (setting.variances)
        make_location_step(all, setting.variances);
    else
        Pool::run((m + at_once - 1) / at_once, m * d * d * d < few_products ? 1 : setting.threads,
                  [&](std::size_t t) { chosen->gaussian_step(all, t * at_once, std::min((t + 1) * at_once, m)); });
    for (std::size_t s = 0; s < step.mixtures; ++s) {
        const std::size_t first = s * k;
        weigh(step.counts + first, step.weights_before + first, step.factors[s], k, setting.held,
              step.log_weights + first, step.weights_beyond + first);
        double low = 0.0, large = 0.0;
        for (std::size_t j = first; j < first + k; ++j) {
            const double weight = step.weights_beyond[j];
            step.bias[j] = weight - normalizers[j];
            if (weight == -std::numeric_limits<double>::infinity()) {
                step.bias[j] = weight;
                continue;
            }
            // NaN is not below zero: a mixture with such a component is one by its bias.
            const double fit = fits[j] - normalizers[j] - setting.prior_top;
            if (fit < 0.0) low += fit;
            large = std::max(large, sizes[j] + std::abs(step.bias[j]));
        }
        step.penalty[s] = low;
        step.size[s] = large;
    }
    return std::all_of(safe.begin(), safe.end(), [](std::uint8_t good) { return good != 0; });
}

}  // namespace kmle
