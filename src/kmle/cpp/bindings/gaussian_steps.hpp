// Steps of several Gaussian mixtures, one after the other, until they have arrived: the loop of search/batch.py.

#pragma once

#include "bindings/dense_passes.hpp"
#include "bindings/gaussian_state.hpp"

namespace kmle {

// Some of the mixtures, side by side.
struct MixtureList {
    std::size_t components, n_statistics;
    std::vector<double> natural, log_weights, counts, sums, before, weights_before, objective, gain;
    std::vector<std::int64_t> streak;
    std::vector<std::size_t> places;  // of each among all
    // Of hard passes: labels [mixture][row], and the rows [mixture][component] that have them; empty before the first.
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> sizes;

    MixtureList(std::size_t count, std::size_t components, std::size_t n_statistics)
        : components(components), n_statistics(n_statistics), natural(count * width()), log_weights(count * components),
          counts(count * components), sums(count * width()), before(count * width()),
          weights_before(count * components), objective(count), gain(count), streak(count), places(count) {}

    std::size_t size() const { return objective.size(); }
    std::size_t width() const { return components * n_statistics; }
};

// Copies one of the mixtures: from or to all of them, or within a list.
template <class To, class From>
void copy_mixture(To& to, std::size_t at, const From& from, std::size_t i, std::size_t components, std::size_t width) {
    const auto copy = [&](auto& target, const auto& source, std::size_t size) {
        std::copy_n(source.data() + i * size, size, target.data() + at * size);
    };
    copy(to.natural, from.natural, width);
    copy(to.sums, from.sums, width);
    copy(to.before, from.before, width);
    copy(to.log_weights, from.log_weights, components);
    copy(to.counts, from.counts, components);
    copy(to.weights_before, from.weights_before, components);
    copy(to.objective, from.objective, 1);
    copy(to.gain, from.gain, 1);
    copy(to.streak, from.streak, 1);
}

template <class T>
class GaussianSteps {
public:
    // Why steps ended: nothing is left to do, a step needs other formulas, or it is time to look at signals.
    enum Ended { done = 0, not_safe = 1, paused = 2 };

    GaussianSteps(PackedRows<T>& rows, const given::Mixtures& all, const StepSetting& setting, const given::Pace& pace,
                  double work)
        : rows_(rows), all_(all), setting_(setting), pace_(pace), work_(work), begun_(work),
          active_(all.size(), all.components(), setting.n_statistics) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            copy_mixture(active_, i, all_, i, active_.components, active_.width());
            active_.places[i] = i;
        }
    }

    Ended run(std::vector<double>& best) {
        for (; made_ < pace_.steps; ++made_) {
            keep_moving();
            if (active_.size() == 0 || spent()) return ended(done);
            if (work_ - begun_ > pace_.work_at_once) return ended(paused);
            if (!step()) return ended(not_safe);
            best.push_back(*std::max_element(active_.objective.begin(), active_.objective.end()));
        }
        return ended(done);
    }

    std::size_t made() const { return made_; }
    double work() const { return work_; }

private:
    // What a pass with some mixtures finds.
    struct Seen {
        std::vector<double> natural, log_weights, beyond, weights_beyond, bias, penalty, size, counts, sums, objective;
    };

    Ended ended(Ended how) {
        put_back();
        return how;
    }

    void put_back() {
        for (std::size_t i = 0; i < active_.size(); ++i)
            copy_mixture(all_, active_.places[i], active_, i, active_.components, active_.width());
    }

    // Leaves out mixtures that gain next to nothing, or that would not reach the best at the pace of their last step.
    void keep_moving() {
        double best = pace_.least;
        for (const double value : active_.objective) best = std::max(best, value);
        for (std::size_t i = 0; i < all_.size(); ++i) best = std::max(best, all_.objective.data()[i]);
        const double further = static_cast<double>(pace_.steps - made_ + pace_.later);
        std::vector<std::size_t> moving;
        for (std::size_t i = 0; i < active_.size(); ++i)
            if (active_.gain[i] > pace_.converged && active_.objective[i] + further * active_.gain[i] >= best)
                moving.push_back(i);
        if (moving.size() == active_.size()) return;
        put_back();
        MixtureList kept(moving.size(), active_.components, active_.n_statistics);
        for (std::size_t i = 0; i < moving.size(); ++i) {
            copy_mixture(kept, i, active_, moving[i], active_.components, active_.width());
            kept.places[i] = active_.places[moving[i]];
        }
        if (!active_.labels.empty()) keep_labels(kept, moving);
        active_ = std::move(kept);
    }

    // The labels of some of those that moved.
    void keep_labels(MixtureList& kept, const std::vector<std::size_t>& moving) const {
        const std::size_t n = rows_.rows(), k = active_.components;
        kept.labels.resize(moving.size() * n);
        kept.sizes.resize(moving.size() * k);
        for (std::size_t i = 0; i < moving.size(); ++i) {
            std::copy_n(active_.labels.data() + moving[i] * n, n, kept.labels.data() + i * n);
            std::copy_n(active_.sizes.data() + moving[i] * k, k, kept.sizes.data() + i * k);
        }
    }

    // Whether the limit leaves no room for a step; there is more while the best mixture has not arrived.
    bool spent() const {
        const double* all = all_.objective.data();
        const auto mine = std::max_element(active_.objective.begin(), active_.objective.end());
        const double* any = std::max_element(all, all + all_.size());
        const double gain = *mine >= *any ? active_.gain[static_cast<std::size_t>(mine - active_.objective.begin())]
                                          : all_.gain.data()[any - all];
        const double cost = static_cast<double>(active_.size()) * pace_.cost;
        return work_ + cost > pace_.limit * (gain <= pace_.converged ? 1.0 : pace_.patience);
    }

    // One step of all that move; false, and nothing changed, where it needs other formulas.
    bool step() {
        const bool hard = pace_.kept < active_.components;
        std::vector<double> factors(active_.size(), 0.0);
        for (std::size_t i = 0; !hard && i < active_.size(); ++i) {
            const double streak = static_cast<double>(active_.streak[i]);
            factors[i] = std::min(streak / (streak + pace_.delay), pace_.largest_factor);
        }
        Seen ahead;
        if (!see(active_, factors, ahead)) return false;
        std::vector<std::size_t> lost;
        for (std::size_t i = 0; i < active_.size(); ++i)
            if (factors[i] > 0.0 && !(ahead.objective[i] >= active_.objective[i])) lost.push_back(i);
        Seen plain;
        if (!lost.empty()) {
            MixtureList some(lost.size(), active_.components, active_.n_statistics);
            for (std::size_t i = 0; i < lost.size(); ++i)
                copy_mixture(some, i, active_, lost[i], active_.components, active_.width());
            if (!see(some, std::vector<double>(lost.size(), 0.0), plain)) return false;
        }
        const std::vector<double> before = active_.objective;
        take(ahead);
        for (std::size_t i = 0; i < active_.size(); ++i)
            active_.streak[i] = factors[i] > 0.0 ? active_.streak[i] + 1 : 1;
        for (std::size_t i = 0; i < lost.size(); ++i) replace(lost[i], plain, i);
        for (std::size_t i = 0; i < active_.size(); ++i) active_.gain[i] = active_.objective[i] - before[i];
        work_ += static_cast<double>(active_.size() + lost.size()) * pace_.cost;
        return true;
    }

    // The points beyond the estimates, and what a pass with them finds; false where that takes other formulas.
    bool see(const MixtureList& from, const std::vector<double>& factors, Seen& seen) {
        const std::size_t count = from.size(), k = from.components;
        for (auto* table : {&seen.natural, &seen.beyond, &seen.sums}) table->assign(count * from.width(), 0.0);
        for (auto* table : {&seen.log_weights, &seen.weights_beyond, &seen.bias, &seen.counts})
            table->assign(count * k, 0.0);
        for (auto* line : {&seen.penalty, &seen.size, &seen.objective}) line->assign(count, 0.0);
        const MixtureStep step{count,
                               k,
                               from.counts.data(),
                               from.sums.data(),
                               from.before.data(),
                               from.weights_before.data(),
                               factors.data(),
                               seen.natural.data(),
                               seen.log_weights.data(),
                               seen.beyond.data(),
                               seen.weights_beyond.data(),
                               seen.bias.data(),
                               seen.penalty.data(),
                               seen.size.data()};
        if (!make_step(setting_, step)) return false;
        const double most = pace_.most_rounding / std::numeric_limits<double>::epsilon();
        if (std::any_of(seen.size.begin(), seen.size.end(), [&](double size) { return size > most; })) return false;
        std::vector<bool> broken(count);
        for (std::size_t s = 0; s < count; ++s) {
            double* own = seen.bias.data() + s * k;
            broken[s] = std::any_of(own, own + k, [](double bias) { return std::isnan(bias); });
            if (broken[s]) std::fill(own, own + k, -std::numeric_limits<double>::infinity());
        }
        if (pace_.kept == 1 && k > 1) {
            label(seen);
        } else {
            const Components components(seen.beyond.data(), seen.bias.data(), count * k, from.n_statistics);
            add_soft_passes(rows_, components, count, pace_.kept, nullptr, seen.counts.data(), seen.sums.data(),
                            seen.objective.data());
        }
        for (std::size_t s = 0; s < count; ++s) value(seen, s, k, from.width(), broken[s]);
        return true;
    }

    // Hard passes of all that move, which say what changed of the labels before.
    void label(Seen& seen) {
        const std::size_t count = active_.size(), k = active_.components, n_statistics = active_.n_statistics;
        const std::size_t n = rows_.rows(), cells = rows_.cells(k);
        const bool fresh = active_.labels.empty();
        active_.labels.resize(count * n);
        active_.sizes.resize(count * k);
        const std::vector<std::size_t> edges = rows_.tasks(count * cells);
        const std::size_t pieces = edges.size() - 1;
        std::vector<GroupedModel<float>> single;
        std::vector<GroupedModel<double>> precise;
        for (std::size_t s = 0; s < count; ++s) {
            const double *natural = seen.beyond.data() + s * k * n_statistics, *bias = seen.bias.data() + s * k;
            single.emplace_back(natural, bias, k, n_statistics);
            precise.emplace_back(natural, bias, k, n_statistics);
        }
        std::vector<double> partial(count * pieces * cells, 0.0);
        std::vector<std::int64_t> sizes(count * pieces * k, 0);
        Pool::run(count * pieces, count * n * cells < fewest_products ? 1 : rows_.threads(), [&](std::size_t t) {
            const std::size_t s = t / pieces, piece = t % pieces;
            double* own = partial.data() + t * cells;
            HardTask task = {edges[piece],
                             edges[piece + 1],
                             active_.labels.data() + s * n,
                             fresh,
                             nullptr,
                             own,
                             own + k,
                             sizes.data() + t * k,
                             0,
                             0,
                             0,
                             0};
            run_hard(rows_, single[s].view(), precise[s].view(), task);
            if (fresh) add_fresh(rows_, task, k);
        });
        rows_.count_work(count * n * k, 0);
        if (!fresh) {
            seen.counts = active_.counts;
            seen.sums = active_.sums;
        }
        for (std::size_t t = 0; t < count * pieces; ++t) {
            const std::size_t s = t / pieces;
            const double* own = partial.data() + t * cells;
            for (std::size_t j = 0; j < k; ++j) seen.counts[s * k + j] += own[j];
            for (std::size_t c = 0; c < k * n_statistics; ++c) seen.sums[s * k * n_statistics + c] += own[k + c];
            for (std::size_t j = 0; j < k; ++j) active_.sizes[s * k + j] += sizes[t * k + j];
        }
        for (std::size_t j = 0; j < count * k; ++j) {
            if (active_.sizes[j] == 0) {  // what is left is rounding
                seen.counts[j] = 0.0;
                std::fill_n(seen.sums.data() + j * n_statistics, n_statistics, 0.0);
            }
            double score = seen.counts[j] > 0.0 ? seen.counts[j] * seen.bias[j] : 0.0;
            for (std::size_t f = 0; seen.counts[j] > 0.0 && f < n_statistics; ++f)
                score += seen.sums[j * n_statistics + f] * seen.beyond[j * n_statistics + f];
            seen.objective[j / k] += score;
        }
    }

    // The objective of one mixture: nothing is seen of one without active components.
    void value(Seen& seen, std::size_t s, std::size_t k, std::size_t width, bool broken) const {
        const double* bias = seen.bias.data() + s * k;
        const bool none = std::none_of(bias, bias + k, [](double value) { return std::isfinite(value); });
        seen.objective[s] += pace_.offset + setting_.prior_strength * seen.penalty[s];
        if (none) {
            std::fill_n(seen.counts.data() + s * k, k, 0.0);
            std::fill_n(seen.sums.data() + s * width, width, 0.0);
        }
        if (none || broken || std::isnan(seen.objective[s]))
            seen.objective[s] = -std::numeric_limits<double>::infinity();
    }

    // All that move go to the points beyond.
    void take(Seen& seen) {
        active_.natural = std::move(seen.beyond);
        active_.log_weights = std::move(seen.weights_beyond);
        active_.counts = std::move(seen.counts);
        active_.sums = std::move(seen.sums);
        active_.before = std::move(seen.natural);
        active_.weights_before = std::move(seen.log_weights);
        active_.objective = std::move(seen.objective);
    }

    // One of them goes to its plain estimate.
    void replace(std::size_t at, const Seen& seen, std::size_t i) {
        const std::size_t k = active_.components, width = active_.width();
        std::copy_n(seen.beyond.data() + i * width, width, active_.natural.data() + at * width);
        std::copy_n(seen.weights_beyond.data() + i * k, k, active_.log_weights.data() + at * k);
        std::copy_n(seen.counts.data() + i * k, k, active_.counts.data() + at * k);
        std::copy_n(seen.sums.data() + i * width, width, active_.sums.data() + at * width);
        active_.objective[at] = seen.objective[i];
        active_.streak[at] = 1;
    }

    PackedRows<T>& rows_;
    given::Mixtures all_;
    StepSetting setting_;
    given::Pace pace_;
    double work_, begun_;
    std::size_t made_ = 0;
    MixtureList active_;
};

// Steps of the mixtures; returns how many were made, the work so far, why they ended (see GaussianSteps), and the best
// objective after each.
template <class T>
std::tuple<std::size_t, double, int, std::vector<double>> gaussian_steps(PackedRows<T>& rows,
                                                                         const given::Mixtures& mixtures,
                                                                         const given::StepSetting& setting,
                                                                         const given::Pace& pace, double work) {
    require(mixtures.size() > 0 && mixtures.components() > 0, "there must be a mixture and a component at least.");
    require_shape("natural", mixtures.natural, {mixtures.size() * mixtures.components(), rows.n_statistics()});
    require(rows.columns() == setting.columns() && rows.n_statistics() == setting.n_statistics(),
            "setting must be that of Gaussians on the columns of the rows.");
    setting.require_fit(mixtures.components());
    require_kept(pace.kept, mixtures.components());
    GaussianSteps<T> steps(rows, mixtures, setting.view(), pace, work);
    std::vector<double> best;
    int how = 0;
    {
        const nb::gil_scoped_release unlocked;
        how = steps.run(best);
    }
    return {steps.made(), steps.work(), how, best};
}

}  // namespace kmle
