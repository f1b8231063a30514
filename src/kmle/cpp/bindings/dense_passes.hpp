// Dense passes over packed rows: every row is scored with every component.

#pragma once

#include "bindings/packed_rows.hpp"

namespace kmle {

// Components of several mixtures that are scored together: as many as stay in the cache.
constexpr std::size_t components_at_once = 24;
// Waking a thread takes as long as this many products, and cutting rows in tasks as long as soft passes over this many.
constexpr std::size_t fewest_products = 1 << 19, fewest_soft_rows = 512;

template <class T>
void run_hard(PackedRows<T>& rows, const Model<float>& single, const Model<double>& precise, HardTask& task) {
    chosen->packed<T>().hard(rows.view(), single, precise, task);
    rows.count_work(0, task.rescored);
}

template <class T>
void run_soft(PackedRows<T>& rows, const Model<double>& model, SoftTask& task) {
    chosen->packed<T>().soft(rows.view(), model, task);
    rows.count_work((task.last_block - task.first_block) * block_rows<T> * model.components, task.rescored);
}

// What the rows of a task add up to, which had no labels before.
template <class T>
void add_fresh(const PackedRows<T>& rows, HardTask& task, std::size_t components) {
    SumsTask sums = {task.first_block, task.last_block, components, task.labels, task.counts, task.sums};
    chosen->packed<T>().label_sums(rows.view(), sums);
    const std::size_t first = task.first_block * block_rows<T>,
                      last = std::min(rows.rows(), task.last_block * block_rows<T>);
    for (std::size_t i = first; i < last; ++i) ++task.sizes[task.labels[i]];
    task.changed = static_cast<std::int64_t>(last - first);
}

// The best component of each row; returns how many labels changed.
template <class T>
std::int64_t hard_pass(PackedRows<T>& rows, const Natural& natural, const Bias& bias, const given::Clusters& clusters,
                       const std::optional<Vector<float>>& margins, const CenteredForm* centered) {
    const nb::gil_scoped_release unlocked;
    rows.require_fit(natural, bias, centered);
    clusters.require_fit(rows.rows(), natural.shape(0), rows.n_statistics());
    if (margins) require_shape("margins", *margins, {rows.rows()});
    // Where no row has a label yet, all are added up by the labels they are given.
    const bool fresh = clusters.none_has_rows();
    if (!fresh) require_below("labels", clusters.labels, natural.shape(0), true);
    const GroupedModel<float> in_single(natural, bias);
    const GroupedModel<double> in_double(natural, bias);
    const Model<float> single = in_single.view();
    const BoundedForm form(centered, 0, in_double.view());
    const Model<double> precise = in_double.view(form.view());
    rows.count_work(rows.rows() * precise.components, 0);
    return rows.move_rows(rows.tasks(rows.cells(precise.components)), clusters, margins ? margins->data() : nullptr,
                          [&](HardTask& task) {
                              task.fresh = fresh;
                              run_hard(rows, single, precise, task);
                              if (fresh) add_fresh(rows, task, precise.components);
                          });
}

// The best component of each row; nothing is added up.
template <class T>
void label_rows(PackedRows<T>& rows, const Natural& natural, const Bias& bias, const Vector<std::int32_t>& labels,
                const CenteredForm* centered) {
    const nb::gil_scoped_release unlocked;
    rows.require_fit(natural, bias, centered);
    require_shape("labels", labels, {rows.rows()});
    const GroupedModel<float> in_single(natural, bias);
    const GroupedModel<double> in_double(natural, bias);
    const Model<float> single = in_single.view();
    const BoundedForm form(centered, 0, in_double.view());
    const Model<double> precise = in_double.view(form.view());
    rows.count_work(rows.rows() * precise.components, 0);
    const std::vector<std::size_t> edges = rows.tasks(1);
    Pool::run(edges.size() - 1, rows.threads(), [&](std::size_t t) {
        HardTask task = {edges[t], edges[t + 1], labels.data(), true, nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0};
        run_hard(rows, single, precise, task);
    });
}

// Whether rounding may spoil scores with statistics of rows with such columns (see row_score_error). NaN does.
template <class T>
bool may_spoil(const Packed<T>& packed, const Model<double>& model, const Summary& summary, const double* shift) {
    const std::size_t columns = packed.columns;
    double size = model.largest_bias;
    const auto largest = [&](std::size_t a) {
        return std::max(std::abs(summary.lowest[a] - shift[a]), std::abs(summary.highest[a] - shift[a]));
    };
    const double* coefficient = model.largest;
    for (std::size_t a = 0; a < columns; ++a) size += *coefficient++ * largest(a);
    if (packed.features != Features::identity)
        for (std::size_t a = 0; a < columns; ++a)
            for (std::size_t b = a; b < (packed.features == Features::diagonal ? a + 1 : columns); ++b)
                size += *coefficient++ * largest(a) * largest(b);
    return !(std::numeric_limits<double>::epsilon() * size <= row_score_error);
}

// Labels of the rows of a table, which pass through the packed rows some at a time, each column less its shift. Where
// rounding may spoil their scores, labels are those of the centered form. Finds extremes of the columns; returns
// whether all values are finite and whole.
template <class T, class From>
std::pair<bool, bool> label_table(PackedRows<T>& rows, const Strided<const From, 2>& table,
                                  const Vector<const double>& shift, const Natural& natural, const Bias& bias,
                                  const Vector<std::int32_t>& labels, const CenteredForm* centered,
                                  const Vector<double>& lowest, const Vector<double>& highest) {
    const nb::gil_scoped_release unlocked;
    const std::size_t columns = rows.columns(), count = table.shape(0), step = rows.rows();
    rows.require_fit(natural, bias, centered);
    require(step > 0, "there must be room for at least one row.");
    require_shape("table", table, {count, columns});
    require_shape("shift", shift, {columns});
    require_shape("labels", labels, {count});
    require_shape("lowest", lowest, {columns});
    require_shape("highest", highest, {columns});
    const GroupedModel<float> in_single(natural, bias);
    const GroupedModel<double> in_double(natural, bias);
    const Model<float> single = in_single.view();
    const BoundedForm form(centered, 0, in_double.view());
    const Model<double> plain = in_double.view(), precise = in_double.view(form.view());
    std::vector<double> extremes(2 * columns);
    bool finite = true, whole = true;
    for (std::size_t first = 0; first < count; first += step) {
        const PackSource<From> source = {table.data() + static_cast<std::int64_t>(first) * table.stride(0),
                                         table.stride(0),
                                         table.stride(1),
                                         nullptr,
                                         shift.data(),
                                         std::min(step, count - first),
                                         columns};
        Summary seen = {extremes.data(), extremes.data() + columns, nullptr, true, true};
        const Packed<T> packed = rows.take(source, seen);
        finite &= seen.finite;
        whole &= seen.whole;
        for (std::size_t a = 0; a < columns; ++a) {
            lowest.data()[a] = std::min(lowest.data()[a], seen.lowest[a]);
            highest.data()[a] = std::max(highest.data()[a], seen.highest[a]);
        }
        HardTask task = {0, packed.blocks(), labels.data() + first, true, nullptr, nullptr, nullptr, nullptr, 0, 0, 0,
                         0};
        const std::size_t next = first + step;
        if (next < count && table.stride(1) == 1 && table.stride(0) == static_cast<std::int64_t>(columns)) {
            task.ahead = reinterpret_cast<const char*>(table.data() + next * columns);
            task.ahead_bytes = std::min(step, count - next) * columns * sizeof(From);
        }
        const bool spoilt = precise.centered && may_spoil(packed, plain, seen, shift.data());
        chosen->packed<T>().hard(packed, single, spoilt ? precise : plain, task);
        rows.count_work(source.rows * plain.components, task.rescored);
    }
    return {finite, whole};
}

// Adds what soft passes of several mixtures find, each of as many components, to counts [mixture][component], sums
// [mixture][component][statistic] and scores [mixture].
template <class T>
void add_soft_passes(PackedRows<T>& rows, const Components& given, std::size_t mixtures, std::size_t kept,
                     const CenteredForm* centered, double* counts, double* sums, double* scores) {
    const std::size_t components = given.count / mixtures, cells = rows.cells(components);
    const std::size_t n_statistics = rows.n_statistics();
    const std::vector<std::size_t> edges = rows.tasks(cells, 1, fewest_soft_rows);
    const std::size_t pieces = edges.size() - 1,
                      threads = rows.rows() * mixtures * cells < fewest_products ? 1 : rows.threads();
    // As many mixtures at a time as their partial results leave room for.
    const std::size_t at_once = std::clamp<std::size_t>(partial_bytes / (sizeof(double) * cells * pieces), 1, mixtures);
    // Some of them share the statistics of a row and groups of components, which changes no result. With few
    // statistics that saves less than it costs to leave the nearest cache.
    const std::size_t shared = centered || rows.n_statistics() < 2 * components
                                   ? 1
                                   : std::max<std::size_t>(1, components_at_once / components);
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
            models.emplace_back(given, edge(b) * components, (edge(b + 1) - edge(b)) * components);
            forms.emplace_back(centered, edge(b) * components, models.back().view());
        }
        std::vector<double> partial(count * pieces * (cells + 1), 0.0);
        std::vector<SoftTask> work(bundles * pieces);
        Pool::run(work.size(), threads, [&](std::size_t t) {
            const std::size_t b = t / pieces, piece = t % pieces, begin = edge(b), members = edge(b + 1) - begin;
            double* own = partial.data() + ((begin - first) * pieces + piece * members) * (cells + 1);
            double *sums_of = own + members * components, *scores_of = own + members * cells;
            work[t] = {edges[piece], edges[piece + 1], kept, own, sums_of, 0.0, 0.0, 0, nullptr, members, scores_of};
            run_soft(rows, models[b].view(forms[b].view()), work[t]);
        });
        for (std::size_t t = 0; t < work.size(); ++t) {
            const std::size_t begin = edge(t / pieces), members = work[t].mixtures;
            for (std::size_t m = 0; m < members; ++m) scores[begin + m] += work[t].scores[m];
            for (std::size_t j = 0; j < members * components; ++j) counts[begin * components + j] += work[t].counts[j];
            double* total = sums + begin * components * n_statistics;
            for (std::size_t c = 0; c < members * components * n_statistics; ++c) total[c] += work[t].sums[c];
        }
    }
}

// Soft passes of several mixtures, each of as many components: [mixture][component]; scores are one per mixture.
template <class T>
void soft_passes(PackedRows<T>& rows, const Natural& natural, const Bias& bias, std::size_t mixtures, std::size_t kept,
                 const given::Totals& totals, const Vector<double>& scores, const CenteredForm* centered) {
    const nb::gil_scoped_release unlocked;
    rows.require_fit(natural, bias, centered);
    totals.require_fit(natural.shape(0), rows.n_statistics());
    require(mixtures > 0 && natural.shape(0) % mixtures == 0, "mixtures must have the same number of components each.");
    require_kept(kept, natural.shape(0) / mixtures);
    require_shape("scores", scores, {mixtures});
    add_soft_passes(rows, Components(natural, bias), mixtures, kept, centered, totals.counts.data(), totals.sums.data(),
                    scores.data());
}

// The weighted sums of the rows' log-sum-exp of scores and of the entropies of their responsibilities.
template <class T>
std::pair<double, double> log_likelihood(PackedRows<T>& rows, const Natural& natural, const Bias& bias,
                                         const CenteredForm* centered) {
    const nb::gil_scoped_release unlocked;
    rows.require_fit(natural, bias, centered);
    const GroupedModel<double> grouped(natural, bias);
    const BoundedForm form(centered, 0, grouped.view());
    const Model<double> model = grouped.view(form.view());
    const std::vector<std::size_t> edges = rows.tasks(1);
    std::vector<SoftTask> work(edges.size() - 1);
    Pool::run(work.size(), rows.threads(), [&](std::size_t t) {
        work[t] = {edges[t], edges[t + 1], model.components, nullptr, nullptr, 0.0, 0.0, 0};
        run_soft(rows, model, work[t]);
    });
    return total_log_likelihood(work);
}

// What is reported of each row by itself; weights do not count.
template <class T>
void row_scores(PackedRows<T>& rows, const Natural& natural, const Bias& bias, const CenteredForm* centered,
                bool by_differences, const given::RowScores& out) {
    const nb::gil_scoped_release unlocked;
    rows.require_fit(natural, bias, centered);
    out.require_fit(rows.rows(), natural.shape(0));
    const GroupedModel<double> grouped(natural, bias);
    const BoundedForm form(centered, 0, grouped.view());
    const Model<double> model = grouped.view(form.view());
    const RowScores wanted = out.view(by_differences);
    const std::vector<std::size_t> edges = rows.tasks(1);
    Pool::run(edges.size() - 1, rows.threads(), [&](std::size_t t) {
        SoftTask task = {edges[t], edges[t + 1], model.components, nullptr, nullptr, 0.0, 0.0, 0, &wanted};
        run_soft(rows, model, task);
    });
}

// The weighted sums (k,) of the scores of rows with the components of their labels, by differences to means.
template <class T>
void own_scores(PackedRows<T>& rows, const Vector<const std::int32_t>& labels, const CenteredForm& centered,
                const Vector<double>& totals) {
    const nb::gil_scoped_release unlocked;
    const std::size_t components = totals.shape(0);
    centered.require_fit(components, rows.columns());
    require_shape("labels", labels, {rows.rows()});
    require_below("labels", labels, components, true);
    const Centered form = centered.view(0);
    const std::vector<std::size_t> edges = rows.tasks(components * rows.columns() * block_rows<double>);
    std::vector<double> partial((edges.size() - 1) * components, 0.0);
    Pool::run(edges.size() - 1, rows.threads(), [&](std::size_t t) {
        OwnTask task = {edges[t], edges[t + 1], labels.data(), partial.data() + t * components, 0};
        chosen->packed<T>().own_scores(rows.view(), form, components, task);
        rows.count_work(0, task.scored);
    });
    for (std::size_t c = 0; c < partial.size(); ++c) totals.data()[c % components] += partial[c];
}

// Counts and sums of given labels; without labels, all rows are those of the first component.
template <class T>
void label_sums(const PackedRows<T>& rows, const std::optional<Vector<const std::int32_t>>& labels,
                const given::Totals& totals) {
    const nb::gil_scoped_release unlocked;
    const std::size_t components = totals.components();
    require(components > 0, "counts must have at least one component.");
    totals.require_fit(components, rows.n_statistics());
    if (labels) {
        require_shape("labels", *labels, {rows.rows()});
        require_below("labels", *labels, components, true);
    }
    const std::size_t cells = rows.cells(components);
    const std::vector<std::size_t> edges = rows.tasks(cells);
    std::vector<double> partial((edges.size() - 1) * cells, 0.0);
    Pool::run(edges.size() - 1, rows.threads(), [&](std::size_t t) {
        double* own = partial.data() + t * cells;
        SumsTask task = {edges[t], edges[t + 1], components, labels ? labels->data() : nullptr, own, own + components};
        chosen->packed<T>().label_sums(rows.view(), task);
    });
    for (std::size_t t = 0; t + 1 < edges.size(); ++t)
        totals.add(partial.data() + t * cells, partial.data() + t * cells + components);
}

}  // namespace kmle
