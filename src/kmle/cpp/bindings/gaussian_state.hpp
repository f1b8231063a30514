// What steps of Gaussian mixtures read and write, as Python holds it; see totals.hpp.

#pragma once

#include "bindings/arrays.hpp"
#include "gaussian/mixture_step.hpp"

namespace kmle {
namespace given {

// What estimates depend on beside statistics; see kmle::StepSetting.
struct StepSetting {
    Vector<const double> prior_moment, largest, spread, center;
    double prior_strength, prior_top, smallest, rounding, spread_rounding, far;
    std::size_t threads;
    Vector<const double> variances, held;

    StepSetting(const Vector<const double>& prior_moment, const Vector<const double>& largest,
                const Vector<const double>& spread, const Vector<const double>& center, double prior_strength,
                double prior_top, double smallest, double rounding, double spread_rounding, double far,
                std::size_t threads, const Vector<const double>& variances, const Vector<const double>& held)
        : prior_moment(prior_moment), largest(largest), spread(spread), center(center), prior_strength(prior_strength),
          prior_top(prior_top), smallest(smallest), rounding(rounding), spread_rounding(spread_rounding), far(far),
          threads(threads), variances(variances), held(held) {
        require(columns() > 0, "spread must have at least one column.");
        if (has_variances()) require_shape("variances", variances, {columns()});
        require_shape("center", center, {columns()});
        require_shape("prior_moment", prior_moment, {n_statistics()});
        require_shape("largest", largest, {n_statistics()});
        require(threads > 0, "threads must be at least one.");
    }

    std::size_t columns() const { return spread.shape(0); }
    bool has_variances() const { return variances.shape(0) > 0; }
    std::size_t n_statistics() const {
        return has_variances() ? columns() : columns() + columns() * (columns() + 1) / 2;
    }

    // Whether it is one of mixtures of that many components.
    void require_fit(std::size_t components) const {
        if (held.shape(0) > 0) require_shape("held", held, {components});
    }

    kmle::StepSetting view() const {
        return {columns(),
                n_statistics(),
                prior_moment.data(),
                largest.data(),
                spread.data(),
                center.data(),
                prior_strength,
                prior_top,
                smallest,
                rounding,
                spread_rounding,
                far,
                threads,
                has_variances() ? variances.data() : nullptr,
                held.shape(0) > 0 ? held.data() : nullptr};
    }
};

// Where a step goes; see kmle::MixtureStep. Tables are [mixture, component] or [mixture and component, statistic].
struct MixtureStep {
    Matrix<double> natural, log_weights, beyond, weights_beyond, bias;
    Vector<double> penalty, size;

    MixtureStep(const Matrix<double>& natural, const Matrix<double>& log_weights, const Matrix<double>& beyond,
                const Matrix<double>& weights_beyond, const Matrix<double>& bias, const Vector<double>& penalty,
                const Vector<double>& size)
        : natural(natural), log_weights(log_weights), beyond(beyond), weights_beyond(weights_beyond), bias(bias),
          penalty(penalty), size(size) {
        const std::size_t mixtures = log_weights.shape(0), k = log_weights.shape(1);
        for (const auto& table : {natural, beyond})
            require_shape("natural and beyond", table, {mixtures * k, natural.shape(1)});
        for (const auto& table : {weights_beyond, bias}) require_shape("weights_beyond and bias", table, {mixtures, k});
        for (const auto& line : {penalty, size}) require_shape("penalty and size", line, {mixtures});
    }
};

// Mixtures and what a pass with them found; steps change all of it. See search/batch.py.
struct Mixtures {
    Matrix<double> natural, log_weights, counts, sums, before, weights_before;
    Vector<double> objective, gain;
    Vector<std::int64_t> streak;

    Mixtures(const Matrix<double>& natural, const Matrix<double>& log_weights, const Matrix<double>& counts,
             const Matrix<double>& sums, const Matrix<double>& before, const Matrix<double>& weights_before,
             const Vector<double>& objective, const Vector<double>& gain, const Vector<std::int64_t>& streak)
        : natural(natural), log_weights(log_weights), counts(counts), sums(sums), before(before),
          weights_before(weights_before), objective(objective), gain(gain), streak(streak) {
        for (const auto& table : {natural, sums, before})
            require_shape("natural, sums and before", table, {size() * components(), natural.shape(1)});
        for (const auto& table : {counts, weights_before})
            require_shape("counts and weights_before", table, {size(), components()});
        for (const auto& line : {objective, gain}) require_shape("objective and gain", line, {size()});
        require_shape("streak", streak, {size()});
    }

    std::size_t size() const { return log_weights.shape(0); }
    std::size_t components() const { return log_weights.shape(1); }
};

// How far steps go; see _kernels/mixture_step.py.
struct Pace {
    std::size_t steps, later, kept;
    double cost, limit, least, converged, patience, delay, largest_factor, offset, most_rounding, work_at_once;

    Pace(std::size_t steps, std::size_t later, std::size_t kept, double cost, double limit, double least,
         double converged, double patience, double delay, double largest_factor, double offset, double most_rounding,
         double work_at_once)
        : steps(steps), later(later), kept(kept), cost(cost), limit(limit), least(least), converged(converged),
          patience(patience), delay(delay), largest_factor(largest_factor), offset(offset),
          most_rounding(most_rounding), work_at_once(work_at_once) {}
};

}  // namespace given
}  // namespace kmle
