// EM of one mixture of Gaussians under a covariance model, from a start until it has arrived. Steps have momentum
// (Nesterov, 1983) in the statistics, as in search/models.py, which is the reference.

#pragma once

#include "gaussian/structured.hpp"

namespace kmle {

// What all steps depend on, of d columns and D statistics.
struct ClimbSetting {
    std::size_t columns, n_statistics;
    const double* prior_moment;  // [statistic]
    const double* largest;       // [statistic]: bounds on |t(x)|
    const double* spread;        // [column]
    double prior_strength, prior_top;
    double smallest, rounding;  // see gaussian_module.cpp
    double sum_log_carrier;
    double score_error;  // scores whose rounding may exceed it, in nats, are not good enough
    double arrived;      // a mixture whose last `recent` steps gained less, in nats, has arrived
    std::size_t recent;
    double delay, largest_factor;  // momentum after s steps is s / (s + delay), at most the largest factor
    bool hard;
};

enum class Reached : std::uint8_t { nothing, end, bound };  // a bound: the next step is left to the caller

// Where one mixture of k components is, and what a pass with it found.
struct ClimbState {
    double *natural, *log_weights, *counts, *sums;  // [component][statistic], [component], ...
    double* objective;
    double *counts_before, *sums_before;  // those of the step before, which momentum is measured from
    double* streak;                       // steps since momentum was last lost
};

// pass(natural, bias, counts, sums) adds up rows by components and returns the log-likelihood without k(x).
template <class Pass>
class Climb {
public:
    Climb(const ClimbSetting& given, std::size_t components, const Pass& over_rows)
        : setting(given), k(components), D(given.n_statistics), pass(over_rows),
          estimate(given.columns, components, given.spread, given.smallest, given.rounding), occupied(k),
          moments(k * D), matrix(given.columns * given.columns), solved(given.columns), bias(k), natural(k * D),
          log_weights(k), counts(k), sums(k * D), point_counts(k), point_sums(k * D) {}

    // Makes at most `steps` steps; the objective after each of them goes to `history`, their number to `made`.
    Reached run(const char* model, const ClimbState& state, std::size_t steps, double* history, std::int32_t& made) {
        for (made = 0; static_cast<std::size_t>(made) < steps;) {
            const double before = *state.objective;
            if (!step(model, state)) return Reached::bound;
            history[made++] = *state.objective;
            const std::size_t done = static_cast<std::size_t>(made), recent = setting.recent;
            const double earlier =
                done > recent ? history[done - 1 - recent] : -std::numeric_limits<double>::infinity();
            if (!(*state.objective > before) && *state.streak <= 1.0) return Reached::end;
            if (!(*state.objective - earlier > setting.arrived)) return Reached::end;
        }
        return Reached::nothing;
    }

private:
    const ClimbSetting& setting;
    std::size_t k, D;
    const Pass& pass;
    StructuredEstimate estimate;
    std::vector<double> occupied, moments, matrix, solved, bias;
    std::vector<double> natural, log_weights, counts, sums, point_counts, point_sums;
    double objective = 0.0;

    // False where it cannot be made here: a covariance is at a bound, or scores round too much.
    bool step(const char* model, const ClimbState& state) {
        double factor = setting.hard ? 0.0 : *state.streak / (*state.streak + setting.delay);
        factor = std::min(factor, setting.largest_factor);
        if (factor > 0.0 && !(go_beyond(state, factor) && arrive(model, state, point_counts, point_sums) &&
                              objective >= *state.objective))
            factor = 0.0;
        if (!(factor > 0.0)) {
            std::copy(state.counts, state.counts + k, point_counts.begin());
            std::copy(state.sums, state.sums + k * D, point_sums.begin());
            if (!arrive(model, state, point_counts, point_sums)) return false;
        }
        *state.streak = factor > 0.0 ? *state.streak + 1.0 : 1.0;
        if (!(objective >= *state.objective)) return true;  // rounding: it has arrived
        std::copy(state.counts, state.counts + k, state.counts_before);
        std::copy(state.sums, state.sums + k * D, state.sums_before);
        std::copy(natural.begin(), natural.end(), state.natural);
        std::copy(log_weights.begin(), log_weights.end(), state.log_weights);
        std::copy(counts.begin(), counts.end(), state.counts);
        std::copy(sums.begin(), sums.end(), state.sums);
        *state.objective = objective;
        return true;
    }

    // Statistics beyond the present ones; false where a component would lose all its rows.
    bool go_beyond(const ClimbState& state, double factor) {
        for (std::size_t j = 0; j < k; ++j) {
            point_counts[j] = state.counts[j] + factor * (state.counts[j] - state.counts_before[j]);
            if (!(point_counts[j] > 0.0) && state.counts[j] > 0.0) return false;
        }
        for (std::size_t e = 0; e < k * D; ++e)
            point_sums[e] = state.sums[e] + factor * (state.sums[e] - state.sums_before[e]);
        return true;
    }

    // The estimate from statistics, and a pass with it.
    bool arrive(const char* model, const ClimbState& state, const std::vector<double>& from_counts,
                const std::vector<double>& from_sums) {
        const double n0 = setting.prior_strength;
        double total = 0.0;
        for (std::size_t j = 0; j < k; ++j) {
            const bool any = from_counts[j] > 0.0;
            occupied[j] = any ? from_counts[j] + n0 : 0.0;
            total += std::max(from_counts[j], 0.0);
            for (std::size_t f = 0; f < D; ++f)
                moments[j * D + f] =
                    any ? (from_sums[j * D + f] + n0 * setting.prior_moment[f]) / occupied[j] : setting.prior_moment[f];
        }
        if (!estimate.run(model, occupied.data(), moments.data(), state.natural, natural.data())) return false;
        double penalty = 0.0;
        for (std::size_t j = 0; j < k; ++j) {
            log_weights[j] = std::log(std::max(from_counts[j], 0.0) / std::max(total, 1e-300));
            if (!weigh(j, penalty)) return false;
        }
        objective = pass(natural.data(), bias.data(), counts.data(), sums.data());
        objective += setting.sum_log_carrier + n0 * penalty;
        return std::isfinite(objective);
    }

    // The bias of a component, and what the prior says of it; false where its scores round too much.
    bool weigh(std::size_t j, double& penalty) {
        bias[j] = log_weights[j];
        if (std::isinf(bias[j])) return true;
        const double* theta = natural.data() + j * D;
        const double normalizer = gaussian_log_normalizer(theta, setting.columns, matrix.data(), solved.data());
        bias[j] -= normalizer;
        double fit = -normalizer - setting.prior_top, size = std::abs(bias[j]);
        for (std::size_t f = 0; f < D; ++f) {
            fit += theta[f] * setting.prior_moment[f];
            size += std::abs(theta[f]) * setting.largest[f];
        }
        penalty += std::min(fit, 0.0);
        return size * std::numeric_limits<double>::epsilon() <= setting.score_error;
    }
};

}  // namespace kmle
