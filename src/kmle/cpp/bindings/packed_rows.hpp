// Passes over packed rows.
//
// Work is cut into tasks whose number depends on the sizes alone, and their results are added in order: nothing depends
// on the threads.

#pragma once

#include <atomic>
#include <tuple>
#include <utility>

#include "dense/centered_form.hpp"
#include "core/chosen.hpp"
#include "core/packing.hpp"

namespace kmle {

// Partial results of all tasks together stay below this.
constexpr std::size_t partial_bytes = 64 << 20;
constexpr std::size_t most_tasks = 64, fewest_boxes_tasks = 16;
constexpr std::size_t fewest_rows_a_task = 2048, fewest_visits = 32;
// Components of several mixtures that are scored together: as many as stay in the cache.
constexpr std::size_t at_once = 24;
// Waking a thread takes as long as so many products.
constexpr std::size_t fewest_products = 1 << 21;

template <class T>
class PackedRows : public Packing<T> {
public:
    using Packing<T>::Packing;
    using Packing<T>::n_statistics;
    using Packing<T>::view;

    std::int64_t hard_pass(const Natural& natural, const Bias& bias, const Vector<std::int32_t>& labels,
                           const Vector<std::int64_t>& sizes, const Vector<double>& counts, const Matrix<double>& sums,
                           const std::optional<Vector<float>>& margins, const CenteredForm* centered) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, counts, sums, centered);
        require_shape("labels", labels, {rows_});
        require_shape("sizes", sizes, {natural.shape(0)});
        if (margins) require_shape("margins", *margins, {rows_});
        const GroupedModel<float> in_single(natural, bias);
        const GroupedModel<double> in_double(natural, bias);
        const Model<float> single = in_single.view();
        const BoundedForm form(centered, 0, in_double.view());
        const Model<double> precise = in_double.view(form.view());
        // Where no row has a label yet, all are added up by the labels they are given.
        const bool fresh =
            std::all_of(sizes.data(), sizes.data() + precise.components, [](auto size) { return size == 0; });
        if (!fresh) require_below("labels", labels, precise.components, true);
        scored_ += static_cast<std::int64_t>(rows_ * precise.components);
        return moved(precise.components, tasks(precise.components * (n_statistics() + 1)), labels, sizes, counts, sums,
                     margins, [&](HardTask& task) {
                         task.fresh = fresh;
                         hard(single, precise, task);
                         if (fresh) add_fresh(task, precise.components);
                         rescored_ += task.rescored;
                     });
    }

    // A hard pass over spans whose margins may be gone (see passes.hpp); returns changes, scores computed, and rows
    // examined where several components have rows.
    std::tuple<std::int64_t, std::int64_t, std::int64_t> bounds_pass(
        const Natural& natural, const Bias& bias, const Vector<std::int32_t>& labels, const Vector<std::int64_t>& sizes,
        const Vector<double>& counts, const Matrix<double>& sums, const Vector<float>& margins, std::size_t rows_each,
        const Matrix<float>& margin_bounds, const Vector<double>& limits, const Vector<const std::int32_t>& anchors,
        const Vector<const float>& radii, const Matrix<const float>& change, const Matrix<const float>& apart,
        float rounding, const Matrix<const float>& gained, const Matrix<const float>& reached,
        const Vector<const double>& most_gained, const Vector<const double>& most_apart) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, counts, sums);
        require_shape("labels", labels, {rows_});
        require_shape("sizes", sizes, {natural.shape(0)});
        require_shape("margins", margins, {rows_});
        check_spans(natural.shape(0), rows_each, margin_bounds, limits, anchors, radii);
        check_step(natural.shape(0), margin_bounds.shape(1), change, apart, gained, reached, most_gained, most_apart);
        const GroupedModel<float> in_single(natural, bias);
        const GroupedModel<double> in_double(natural, bias);
        const Model<float> single = in_single.view();
        const Model<double> precise = in_double.view();
        Spans spans = {rows_each,    margin_bounds.shape(1), margin_bounds.data(), limits.data(),
                               anchors.data(), radii.data(),   nullptr};
        const Step step = {change.data(),  apart.data(),       rounding,         gained.data(),
                           reached.data(), most_gained.data(), most_apart.data()};
        // Without branches: it cannot be foretold which are to be visited.
        std::vector<std::size_t> visits(limits.shape(0) + 1);
        std::size_t visited = 0;
        for (std::size_t s = 0; s < limits.shape(0); ++s) {
            visits[visited] = s;
            visited += static_cast<std::size_t>(!(spans.limits[s] > largest_drift(spans, step, s)));
        }
        visits.resize(visited);
        spans.visits = visits.data();
        // Setting out with many components costs as much as a few visits of each.
        const std::size_t components = precise.components,
                          worthwhile = visits.size() / (fewest_visits + components) + 1;
        const std::size_t affordable =
            std::max<std::size_t>(2, partial_bytes / (sizeof(double) * components * (n_statistics() + 1)));
        const std::size_t count = std::min({most_tasks, affordable, worthwhile});
        std::vector<std::size_t> edges;
        for (std::size_t t = 0; t <= count; ++t) edges.push_back(visits.size() * t / count);
        std::atomic<std::int64_t> scored{0}, strayed{0};
        const std::int64_t changed =
            moved(components, edges, labels, sizes, counts, sums, margins, [&](HardTask& task) {
                if constexpr (sizeof(T) == 8)
                    chosen->skipping64(view(), single, precise, spans, step, task);
                else
                    chosen->skipping32(view(), single, precise, spans, step, task);
                scored += task.scored;
                strayed += task.strayed;
            });
        return {changed, scored, strayed};
    }

    // The log-likelihood of components with which a bounds pass has just been made.
    std::pair<double, double> bounds_log_likelihood(
        const Natural& natural, const Bias& bias, const Vector<const std::int32_t>& labels, std::size_t rows_each,
        const Matrix<float>& margin_bounds, const Vector<double>& limits, const Vector<const std::int32_t>& anchors,
        const Vector<const float>& radii, const Matrix<const float>& change, const Matrix<const float>& apart,
        float rounding, const Matrix<const float>& gained, const Matrix<const float>& reached,
        const Vector<const double>& most_gained, const Vector<const double>& most_apart) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias);
        require_shape("labels", labels, {rows_});
        require_below("labels", labels, natural.shape(0), false);
        check_spans(natural.shape(0), rows_each, margin_bounds, limits, anchors, radii);
        check_step(natural.shape(0), margin_bounds.shape(1), change, apart, gained, reached, most_gained, most_apart);
        const GroupedModel<double> grouped(natural, bias);
        const Model<double> model = grouped.view();
        const Spans spans = {rows_each,    margin_bounds.shape(1), margin_bounds.data(), limits.data(),
                                     anchors.data(), radii.data(),   nullptr};
        const Step step = {change.data(),  apart.data(),       rounding,         gained.data(),
                           reached.data(), most_gained.data(), most_apart.data()};
        const std::vector<std::size_t> edges = tasks(1, rows_each / block_rows<T>);
        std::vector<SoftTask> work(edges.size() - 1);
        Pool::run(work.size(), threads_, [&](std::size_t t) {
            work[t] = {edges[t], edges[t + 1], model.components, nullptr, nullptr, 0.0, 0.0, 0};
            if constexpr (sizeof(T) == 8)
                chosen->bounds_log_likelihood64(view(), model, spans, step, labels.data(), work[t]);
            else
                chosen->bounds_log_likelihood32(view(), model, spans, step, labels.data(), work[t]);
        });
        return total_log_likelihood(work);
    }

    // Balls that hold one in so many spans of rows (see passes.hpp), and squares of the statistics about the
    // centers.
    void balls(std::size_t rows_each, std::size_t every, const Vector<const double>& scale,
               const Matrix<const double>& centers, const Vector<const std::int32_t>& anchors, const Vector<float>& radii,
               const std::optional<Vector<double>>& squares) const {
        const nb::gil_scoped_release unlocked;
        const std::size_t spans = span_count(rows_each);
        require(every > 0, "every must be at least one.");
        require_shape("scale", scale, {n_statistics()});
        require_shape("centers", centers, {centers.shape(0), n_statistics()});
        require_shape("anchors", anchors, {spans});
        require_below("anchors", anchors, centers.shape(0), false);
        require_shape("radii", radii, {spans});
        if (squares) require_shape("squares", *squares, {n_statistics()});
        const Balls balls = {rows_each, every, scale.data(), centers.data(), anchors.data(), radii.data()};
        const std::size_t steps = rounded_up(spans, every) / every;
        const std::size_t tasks = std::min(steps, most_tasks);
        std::vector<double> partial(squares ? tasks * n_statistics() : 0, 0.0);
        Pool::run(tasks, threads_, [&](std::size_t t) {
            const std::size_t first = steps * t / tasks * every,
                              last = std::min(spans, steps * (t + 1) / tasks * every);
            double* own = squares ? partial.data() + t * n_statistics() : nullptr;
            if constexpr (sizeof(T) == 8)
                chosen->balls64(view(), balls, first, last, own);
            else
                chosen->balls32(view(), balls, first, last, own);
        });
        for (std::size_t c = 0; c < partial.size(); ++c) squares->data()[c % n_statistics()] += partial[c];
    }

    // Extremes of the columns, and weight and weighted statistics, of groups of so many rows, which are whole blocks.
    void groups(std::size_t rows_each, const Matrix<double>& low, const Matrix<double>& high,
                const Matrix<double>& totals) const {
        const nb::gil_scoped_release unlocked;
        const std::size_t count = span_count(rows_each), step = 64;
        require_shape("low", low, {count, columns_});
        require_shape("high", high, {count, columns_});
        require_shape("totals", totals, {count, n_statistics() + 1});
        Pool::run(rounded_up(count, step) / step, threads_, [&](std::size_t task) {
            std::vector<double> columns(columns_ * rows_each), products(rows_each);
            for (std::size_t g = task * step; g < std::min(count, (task + 1) * step); ++g) {
                const std::size_t first = g * rows_each, size = std::min(rows_each, rows_ - first);
                double* total = totals.data() + g * (n_statistics() + 1);
                for (std::size_t a = 0; a < columns_; ++a) {
                    double* column = columns.data() + a * rows_each;
                    for (std::size_t start = 0; start < size; start += block_rows<T>)
                        std::copy_n(view().block((first + start) / block_rows<T>) + a * block_rows<T>,
                                    std::min(block_rows<T>, size - start), column + start);
                    low.data()[g * columns_ + a] = *std::min_element(column, column + size);
                    high.data()[g * columns_ + a] = *std::max_element(column, column + size);
                }
                const auto weighted = [&](std::size_t a, std::size_t b) {  // the sum of x_a x_b, and without b of x_a
                    const double *x = columns.data() + a * rows_each, *y = columns.data() + b * rows_each;
                    for (std::size_t i = 0; i < size; ++i) products[i] = b < columns_ ? x[i] * y[i] : x[i];
                    if (!weights_.empty())
                        for (std::size_t i = 0; i < size; ++i) products[i] *= weights_[first + i];
                    return sum(products.data(), size);
                };
                *total++ = weights_.empty() ? static_cast<double>(size) : sum(weights_.data() + first, size);
                for (std::size_t a = 0; a < columns_; ++a) *total++ = weighted(a, columns_);
                if (features_ == Features::identity) continue;
                for (std::size_t a = 0; a < columns_; ++a)
                    for (std::size_t b = a; b < (features_ == Features::diagonal ? a + 1 : columns_); ++b)
                        *total++ = weighted(a, b);
            }
        });
    }

    // A hard pass over rows in the order of a tree (see passes.hpp); returns how many labels changed.
    std::int64_t boxes_pass(const Natural& natural, const Bias& bias, const std::vector<std::size_t>& rows_each,
                             const std::vector<Matrix<const double>>& centers,
                             const std::vector<Matrix<const double>>& halves,
                             const std::vector<Matrix<const double>>& totals,
                             const std::optional<Vector<const std::int64_t>>& starts,
                             const std::optional<Vector<const std::int32_t>>& candidates,
                             const std::optional<Vector<const std::int32_t>>& owners_before,
                             const std::optional<Vector<const std::int32_t>>& labels_before,
                             const Vector<std::int32_t>& owners, const Vector<std::int32_t>& labels,
                             const Vector<double>& counts, const Matrix<double>& sums) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, counts, sums);
        check_levels(rows_each, centers, halves, totals);
        check_lists(centers[0].shape(0), natural.shape(0), starts, candidates);
        const std::size_t group_count = centers.back().shape(0);
        require(owners_before.has_value() == labels_before.has_value(),
                "owners_before and labels_before come together.");
        if (owners_before) require_shape("owners_before", *owners_before, {group_count});
        if (labels_before) require_shape("labels_before", *labels_before, {rows_});
        require_shape("owners", owners, {group_count});
        require_shape("labels", labels, {rows_});
        const GroupedModel<double> grouped(natural, bias);
        const Model<double> model = grouped.view();
        std::vector<Level> levels;
        for (std::size_t l = 0; l < rows_each.size(); ++l)
            levels.push_back({rows_each[l] / block_rows<T>, centers[l].data(), halves[l].data(), totals[l].data()});
        const Tree tree = {levels.data(), levels.size(), starts ? starts->data() : nullptr,
                           candidates ? candidates->data() : nullptr};
        const std::size_t spans = centers[0].shape(0), cells = model.components * (n_statistics() + 1);
        const std::size_t affordable = std::max<std::size_t>(2, partial_bytes / (sizeof(double) * cells));
        // Setting out with many components, and adding up what they have, costs as much as a few rows of each.
        const std::size_t worthwhile = std::max(fewest_boxes_tasks, rows_ / (2 * cells));
        const std::size_t count = std::min({most_tasks, affordable, worthwhile, spans});
        std::vector<double> partial(count * cells, 0.0);
        std::vector<BoxesTask> tasks(count);
        Pool::run(count, threads_, [&](std::size_t t) {
            double* own = partial.data() + t * cells;
            tasks[t] = {spans * t / count,
                        spans * (t + 1) / count,
                        owners_before ? owners_before->data() : nullptr,
                        labels_before ? labels_before->data() : nullptr,
                        owners.data(),
                        labels.data(),
                        own,
                        own + model.components,
                        0};
            if constexpr (sizeof(T) == 8)
                chosen->pruned64(view(), model, tree, tasks[t]);
            else
                chosen->pruned32(view(), model, tree, tasks[t]);
        });
        std::int64_t changed = 0;
        for (const BoxesTask& task : tasks) {
            changed += task.changed;
            add(task.counts, task.sums, model.components, counts, sums);
        }
        return changed;
    }

    // Soft passes of several mixtures, each of as many components: [mixture][component]; scores are one per mixture.
    void soft_passes(const Natural& natural, const Bias& bias, std::size_t mixtures, std::size_t kept,
                     const Vector<double>& counts, const Matrix<double>& sums, const Vector<double>& scores,
                     const CenteredForm* centered) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, counts, sums, centered);
        require(mixtures > 0 && natural.shape(0) % mixtures == 0,
                "mixtures must have the same number of components each.");
        require_kept(kept, natural.shape(0) / mixtures);
        require_shape("scores", scores, {mixtures});
        const std::size_t components = natural.shape(0) / mixtures, cells = components * (n_statistics() + 1);
        const std::vector<std::size_t> edges = tasks(cells);
        const std::size_t pieces = edges.size() - 1,
                          threads = rows_ * mixtures * cells < fewest_products ? 1 : threads_;
        // As many mixtures at a time as their partial results leave room for.
        const std::size_t at_once =
            std::clamp<std::size_t>(partial_bytes / (sizeof(double) * cells * pieces), 1, mixtures);
        // Some of them share the statistics of a row and groups of components, which changes no result. With few
        // statistics that saves less than it costs to leave the nearest cache.
        const std::size_t shared =
            centered || n_statistics() < 2 * components ? 1 : std::max<std::size_t>(1, at_once / components);
        for (std::size_t first = 0; first < mixtures; first += at_once) {
            const std::size_t count = std::min(at_once, mixtures - first);
            const std::size_t busy = threads > 1 ? std::min(count, 2 * threads) : 1;
            const std::size_t bundles = std::max(rounded_up(count, shared) / shared, busy);
            const auto edge = [&](std::size_t bundle) { return first + count * bundle / bundles; };
            std::vector<GroupedModel<double>> models;
            models.reserve(bundles);
            std::vector<BoundedForm> forms;
            forms.reserve(bundles);
            for (std::size_t b = 0; b < bundles; ++b) {
                models.emplace_back(natural, bias, edge(b) * components, (edge(b + 1) - edge(b)) * components);
                forms.emplace_back(centered, edge(b) * components, models.back().view());
            }
            std::vector<double> partial(count * pieces * (cells + 1), 0.0);
            std::vector<SoftTask> work(bundles * pieces);
            Pool::run(work.size(), threads, [&](std::size_t t) {
                const std::size_t b = t / pieces, piece = t % pieces, begin = edge(b), members = edge(b + 1) - begin;
                double* own = partial.data() + ((begin - first) * pieces + piece * members) * (cells + 1);
                double *sums_of = own + members * components, *scores_of = own + members * cells;
                work[t] = {edges[piece], edges[piece + 1], kept,    own,    sums_of, 0.0, 0.0, 0,
                           nullptr,      members,          scores_of};
                soft(models[b].view(forms[b].view()), work[t]);
            });
            for (std::size_t t = 0; t < work.size(); ++t) {
                const std::size_t begin = edge(t / pieces), members = work[t].mixtures;
                for (std::size_t m = 0; m < members; ++m) scores.data()[begin + m] += work[t].scores[m];
                double* count_of = counts.data() + begin * components;
                for (std::size_t j = 0; j < members * components; ++j) count_of[j] += work[t].counts[j];
                double* total = sums.data() + begin * components * n_statistics();
                for (std::size_t c = 0; c < members * components * n_statistics(); ++c) total[c] += work[t].sums[c];
            }
        }
    }

    // The weighted sums of the rows' log-sum-exp of scores and of the entropies of their responsibilities.
    std::pair<double, double> log_likelihood(const Natural& natural, const Bias& bias, const CenteredForm* centered) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, centered);
        const GroupedModel<double> grouped(natural, bias);
        const BoundedForm form(centered, 0, grouped.view());
        const Model<double> model = grouped.view(form.view());
        const std::vector<std::size_t> edges = tasks(1);
        std::vector<SoftTask> work(edges.size() - 1);
        Pool::run(work.size(), threads_, [&](std::size_t t) {
            work[t] = {edges[t], edges[t + 1], model.components, nullptr, nullptr, 0.0, 0.0, 0};
            soft(model, work[t]);
        });
        return total_log_likelihood(work);
    }

    // What each row's scores are, add up to, and say of the components (see RowScores); weights do not count.
    void row_scores(const Natural& natural, const Bias& bias, const CenteredForm* centered, bool by_differences,
                    const std::optional<Vector<double>>& log_sums, const std::optional<Vector<double>>& tops,
                    const std::optional<Matrix<double>>& shares, const std::optional<Matrix<double>>& scores) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, centered);
        require_outputs(log_sums, tops, shares, scores, rows_, natural.shape(0));
        const GroupedModel<double> grouped(natural, bias);
        const BoundedForm form(centered, 0, grouped.view());
        const Model<double> model = grouped.view(form.view());
        const RowScores out = {log_sums ? log_sums->data() : nullptr, tops ? tops->data() : nullptr,
                               shares ? shares->data() : nullptr, scores ? scores->data() : nullptr, by_differences};
        const std::vector<std::size_t> edges = tasks(1);
        Pool::run(edges.size() - 1, threads_, [&](std::size_t t) {
            SoftTask task = {edges[t], edges[t + 1], model.components, nullptr, nullptr, 0.0, 0.0, 0, &out};
            soft(model, task);
        });
    }

    // The best component of each row; nothing is added up.
    void label_rows(const Natural& natural, const Bias& bias, const Vector<std::int32_t>& labels,
                    const CenteredForm* centered) {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, centered);
        require_shape("labels", labels, {rows_});
        const GroupedModel<float> in_single(natural, bias);
        const GroupedModel<double> in_double(natural, bias);
        const Model<float> single = in_single.view();
        const BoundedForm form(centered, 0, in_double.view());
        const Model<double> precise = in_double.view(form.view());
        scored_ += static_cast<std::int64_t>(rows_ * precise.components);
        const std::vector<std::size_t> edges = tasks(1);
        Pool::run(edges.size() - 1, threads_, [&](std::size_t t) {
            HardTask task = {edges[t], edges[t + 1], labels.data(), true, nullptr, nullptr, nullptr, nullptr, 0, 0, 0,
                             0};
            hard(single, precise, task);
            rescored_ += task.rescored;
        });
    }

    // The weighted sums (k,) of the scores of rows with the components of their labels, by differences to means.
    void own_scores(const Vector<const std::int32_t>& labels, const CenteredForm& centered,
                    const Vector<double>& totals) {
        const nb::gil_scoped_release unlocked;
        const std::size_t components = totals.shape(0);
        centered.require_fit(components, columns_);
        require_shape("labels", labels, {rows_});
        require_below("labels", labels, components, true);
        const Centered form = centered.view(0);
        const std::vector<std::size_t> edges = tasks(components * columns_ * block_rows<double>);
        std::vector<double> partial((edges.size() - 1) * components, 0.0);
        Pool::run(edges.size() - 1, threads_, [&](std::size_t t) {
            OwnTask task = {edges[t], edges[t + 1], labels.data(), partial.data() + t * components, 0};
            if constexpr (sizeof(T) == 8)
                chosen->own64(view(), form, components, task);
            else
                chosen->own32(view(), form, components, task);
            rescored_ += task.scored;
        });
        for (std::size_t c = 0; c < partial.size(); ++c) totals.data()[c % components] += partial[c];
    }

    // Counts and sums of given labels; without labels, all rows are those of the first component.
    void label_sums(const std::optional<Vector<const std::int32_t>>& labels, const Vector<double>& counts,
                    const Matrix<double>& sums) {
        const nb::gil_scoped_release unlocked;
        require(counts.shape(0) > 0, "counts must have at least one component.");
        require_totals(counts, sums, counts.shape(0), n_statistics());
        if (labels) {
            require_shape("labels", *labels, {rows_});
            require_below("labels", *labels, counts.shape(0), true);
        }
        const std::size_t components = counts.shape(0), cells = components * (n_statistics() + 1);
        const std::vector<std::size_t> edges = tasks(cells);
        std::vector<double> partial((edges.size() - 1) * cells, 0.0);
        Pool::run(edges.size() - 1, threads_, [&](std::size_t t) {
            double* own = partial.data() + t * cells;
            add_up({edges[t], edges[t + 1], components, labels ? labels->data() : nullptr, own, own + components});
        });
        for (std::size_t t = 0; t + 1 < edges.size(); ++t)
            add(partial.data() + t * cells, partial.data() + t * cells + components, components, counts, sums);
    }

    // How many scores all hard and soft passes have computed, and how many of them once more in better precision.
    std::pair<std::int64_t, std::int64_t> work() const { return {scored_, rescored_}; }

private:
    using Packing<T>::rows_;
    using Packing<T>::columns_;
    using Packing<T>::features_;
    using Packing<T>::threads_;
    using Packing<T>::weights_;
    using Packing<T>::blocks;

    std::atomic<std::int64_t> scored_{0}, rescored_{0};

    void check(const Natural& natural, const Bias& bias, const CenteredForm* centered = nullptr) const {
        require_components(natural, bias, n_statistics());
        if (centered) centered->require_fit(natural.shape(0), columns_);
    }

    void check(const Natural& natural, const Bias& bias, const Vector<double>& counts, const Matrix<double>& sums,
               const CenteredForm* centered = nullptr) const {
        check(natural, bias, centered);
        require_totals(counts, sums, natural.shape(0), n_statistics());
    }

    // Spans are whole blocks of rows.
    std::size_t span_count(std::size_t rows_each) const {
        require(rows_each > 0 && rows_each % batch_rows == 0, "rows_each must be a multiple of 64.");
        return rows_ / rows_each + (rows_ % rows_each > 0);
    }

    void check_spans(std::size_t components, std::size_t rows_each, const Matrix<float>& margin_bounds,
                         const Vector<double>& limits, const Vector<const std::int32_t>& anchors,
                         const Vector<const float>& radii) const {
        const std::size_t count = span_count(rows_each);
        require(margin_bounds.shape(1) >= components && margin_bounds.shape(1) % 16 == 0,
                "lines of leads must be a multiple of 16 long, and not less than the components.");
        require_shape("margin_bounds", margin_bounds, {count, margin_bounds.shape(1)});
        require_shape("limits", limits, {count});
        require_shape("anchors", anchors, {count});
        require_below("anchors", anchors, components, false);
        require_shape("radii", radii, {count});
    }

    static void check_step(std::size_t components, std::size_t width, const Matrix<const float>& change,
                           const Matrix<const float>& apart, const Matrix<const float>& gained,
                           const Matrix<const float>& reached, const Vector<const double>& most_gained,
                           const Vector<const double>& most_apart) {
        require_shape("change", change, {components, width});
        require_shape("apart", apart, {components, width});
        require_shape("gained", gained, {components, width});
        require_shape("reached", reached, {components, width});
        require_shape("most_gained", most_gained, {components});
        require_shape("most_apart", most_apart, {components});
    }

    // Spans of a level are whole numbers of those of the next, and those of the last are groups.
    void check_levels(const std::vector<std::size_t>& rows_each, const std::vector<Matrix<const double>>& centers,
                      const std::vector<Matrix<const double>>& halves,
                      const std::vector<Matrix<const double>>& totals) const {
        const std::size_t depth = rows_each.size();
        require(depth > 0 && centers.size() == depth && halves.size() == depth && totals.size() == depth,
                "every level must have centres, halves and totals.");
        require(rows_each.back() == batch_rows, "the last level must have spans of 64 rows.");
        for (std::size_t l = 0; l < depth; ++l) {
            const std::size_t count = span_count(rows_each[l]);
            require(l + 1 == depth || (rows_each[l + 1] > 0 && rows_each[l] % rows_each[l + 1] == 0),
                    "rows_each of a level must be a multiple of that of the next.");
            require_shape("centers", centers[l], {count, columns_});
            require_shape("halves", halves[l], {count, columns_});
            require_shape("totals", totals[l], {count, n_statistics() + 1});
        }
    }

    static void check_lists(std::size_t spans, std::size_t components,
                            const std::optional<Vector<const std::int64_t>>& starts,
                            const std::optional<Vector<const std::int32_t>>& candidates) {
        require(starts.has_value() == candidates.has_value(), "starts and candidates come together.");
        if (!starts) return;
        require_shape("starts", *starts, {spans + 1});
        const std::int64_t *first = starts->data(), *last = first + spans;
        require(
            *first >= 0 && std::is_sorted(first, last + 1) && *last <= static_cast<std::int64_t>(candidates->shape(0)),
            "starts must not decrease, and lie within the candidates.");
        require_below("candidates", *candidates, components, false);
    }

    static double sum(const double* values, std::size_t size) {
        constexpr std::size_t apart = 8;  // several at a time, so that none waits for the one before
        double sums[apart] = {};
        std::size_t i = 0;
        for (; i + apart <= size; i += apart)
            for (std::size_t l = 0; l < apart; ++l) sums[l] += values[i + l];
        for (; i < size; ++i) sums[0] += values[i];
        double total = 0.0;
        for (const double part : sums) total += part;
        return total;
    }

    // Edges of the tasks, in blocks and multiples of `step`: as many as memory for `cells` partial results each allows,
    // never by threads.
    std::vector<std::size_t> tasks(std::size_t cells, std::size_t step = 1) const {
        const std::size_t affordable = std::max<std::size_t>(2, partial_bytes / (sizeof(double) * cells));
        const std::size_t worthwhile = std::max<std::size_t>(1, rows_ / fewest_rows_a_task);
        const std::size_t steps = rounded_up(blocks(), step) / step;
        const std::size_t count = std::min({most_tasks, affordable, worthwhile, std::max<std::size_t>(steps, 1)});
        std::vector<std::size_t> edges;
        for (std::size_t t = 0; t <= count; ++t) edges.push_back(std::min(blocks(), steps * t / count * step));
        return edges;
    }

    void hard(const Model<float>& single, const Model<double>& precise, HardTask& task) const {
        if constexpr (sizeof(T) == 8)
            chosen->hard64(view(), single, precise, task);
        else
            chosen->hard32(view(), single, precise, task);
    }

    void soft(const Model<double>& model, SoftTask& task) {
        if constexpr (sizeof(T) == 8)
            chosen->soft64(view(), model, task);
        else
            chosen->soft32(view(), model, task);
        scored_ += static_cast<std::int64_t>((task.last_block - task.first_block) * block_rows<T> * model.components);
        rescored_ += task.rescored;
    }

    void add_up(SumsTask task) const {
        if constexpr (sizeof(T) == 8)
            chosen->sums64(view(), task);
        else
            chosen->sums32(view(), task);
    }

    // What the rows of a task add up to, which had no labels before.
    void add_fresh(HardTask& task, std::size_t components) const {
        add_up({task.first_block, task.last_block, components, task.labels, task.counts, task.sums});
        const std::size_t first = task.first_block * block_rows<T>,
                          last = std::min(rows_, task.last_block * block_rows<T>);
        for (std::size_t i = first; i < last; ++i) ++task.sizes[task.labels[i]];
        task.changed = static_cast<std::int64_t>(last - first);
    }

    static std::pair<double, double> total_log_likelihood(const std::vector<SoftTask>& work) {
        double score = 0.0, entropy = 0.0;
        for (const SoftTask& task : work) {
            score += task.score;
            entropy += task.entropy;
        }
        return {score, entropy};
    }

    // Runs the tasks of a hard pass and adds what they book; returns how many labels changed.
    template <class Work>
    std::int64_t moved(std::size_t components, const std::vector<std::size_t>& edges,
                       const Vector<std::int32_t>& labels, const Vector<std::int64_t>& sizes,
                       const Vector<double>& counts, const Matrix<double>& sums,
                       const std::optional<Vector<float>>& margins, const Work& work) {
        const std::size_t count = edges.size() - 1, cells = components * (n_statistics() + 1);
        std::vector<double> partial(count * cells, 0.0);
        std::vector<std::int64_t> partial_sizes(count * components, 0);
        std::vector<HardTask> tasks(count);
        Pool::run(count, threads_, [&](std::size_t t) {
            double* own = partial.data() + t * cells;
            tasks[t] = {edges[t],
                        edges[t + 1],
                        labels.data(),
                        false,
                        margins ? margins->data() : nullptr,
                        own,
                        own + components,
                        partial_sizes.data() + t * components,
                        0,
                        0,
                        0,
                        0};
            work(tasks[t]);
        });
        std::int64_t changed = 0;
        for (const HardTask& task : tasks) {
            changed += task.changed;
            for (std::size_t j = 0; j < components; ++j) sizes.data()[j] += task.sizes[j];
            add(task.counts, task.sums, components, counts, sums);
        }
        return changed;
    }

    void add(const double* part_counts, const double* part_sums, std::size_t components, const Vector<double>& counts,
             const Matrix<double>& sums) const {
        for (std::size_t j = 0; j < components; ++j) counts.data()[j] += part_counts[j];
        for (std::size_t c = 0; c < components * n_statistics(); ++c) sums.data()[c] += part_sums[c];
    }
};

}  // namespace kmle
