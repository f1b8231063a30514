// Passes over packed rows that lie in the order of a tree of boxes.

#pragma once

#include "bindings/boxes_state.hpp"
#include "bindings/packed_rows.hpp"

namespace kmle {

constexpr std::size_t fewest_boxes_tasks = 16;

inline double sum_of(const double* values, std::size_t size) {
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

// Extremes of the columns, and weight and weighted statistics, of groups of `rows_each` rows, which are whole blocks.
template <class T>
void groups(const PackedRows<T>& packed, std::size_t rows_each, const Matrix<double>& low, const Matrix<double>& high,
            const Matrix<double>& totals) {
    const nb::gil_scoped_release unlocked;
    const Packed<T> rows = packed.view();
    const std::size_t d = rows.columns, count = span_count(rows.rows, rows_each), step = 64;
    require_shape("low", low, {count, d});
    require_shape("high", high, {count, d});
    require_shape("totals", totals, {count, rows.n_statistics + 1});
    Pool::run(rounded_up(count, step) / step, packed.threads(), [&](std::size_t task) {
        std::vector<double> columns(d * rows_each), products(rows_each);
        for (std::size_t g = task * step; g < std::min(count, (task + 1) * step); ++g) {
            const std::size_t first = g * rows_each, size = std::min(rows_each, rows.rows - first);
            double* total = totals.data() + g * (rows.n_statistics + 1);
            for (std::size_t a = 0; a < d; ++a) {
                double* column = columns.data() + a * rows_each;
                for (std::size_t start = 0; start < size; start += block_rows<T>)
                    std::copy_n(rows.block((first + start) / block_rows<T>) + a * block_rows<T>,
                                std::min(block_rows<T>, size - start), column + start);
                low.data()[g * d + a] = *std::min_element(column, column + size);
                high.data()[g * d + a] = *std::max_element(column, column + size);
            }
            const auto weighted = [&](std::size_t a, std::size_t b) {  // the sum of x_a x_b, and without b of x_a
                const double *x = columns.data() + a * rows_each, *y = columns.data() + b * rows_each;
                for (std::size_t i = 0; i < size; ++i) products[i] = b < d ? x[i] * y[i] : x[i];
                if (rows.weights)
                    for (std::size_t i = 0; i < size; ++i) products[i] *= rows.weights[first + i];
                return sum_of(products.data(), size);
            };
            *total++ = rows.weights ? sum_of(rows.weights + first, size) : static_cast<double>(size);
            for (std::size_t a = 0; a < d; ++a) *total++ = weighted(a, d);
            if (rows.features == Features::identity) continue;
            for (std::size_t a = 0; a < d; ++a)
                for (std::size_t b = a; b < (rows.features == Features::diagonal ? a + 1 : d); ++b)
                    *total++ = weighted(a, b);
        }
    });
}

// A hard pass; returns how many labels are others than those before, and adds to the totals.
template <class T>
std::int64_t boxes_pass(const PackedRows<T>& rows, const Natural& natural, const Bias& bias, const given::Boxes& boxes,
                        const given::Candidates* candidates, const given::GroupLabels* before,
                        const given::GroupLabels& after, const given::Totals& totals) {
    const nb::gil_scoped_release unlocked;
    const std::size_t components = natural.shape(0), spans = boxes.levels[0].spans();
    rows.require_fit(natural, bias);
    totals.require_fit(components, rows.n_statistics());
    boxes.require_fit(rows.rows(), rows.columns(), rows.n_statistics());
    if (candidates) candidates->require_fit(spans, components);
    if (before) before->require_fit(rows.rows());
    after.require_fit(rows.rows());
    const GroupedModel<double> grouped(natural, bias);
    const Model<double> model = grouped.view();
    std::vector<Level> levels;
    for (const given::Level& level : boxes.levels)
        levels.push_back(
            {level.rows_each / block_rows<T>, level.centers.data(), level.halves.data(), level.totals.data()});
    const Tree tree = {levels.data(), levels.size(), candidates ? candidates->starts.data() : nullptr,
                       candidates ? candidates->names.data() : nullptr};
    const std::size_t cells = rows.cells(components);
    // Starting a task with many components, and adding up its results, costs as much as a few rows of each.
    const std::size_t worthwhile = std::max(fewest_boxes_tasks, rows.rows() / (2 * cells));
    const std::size_t count = std::min({most_tasks, affordable_tasks(cells), worthwhile, spans});
    std::vector<double> partial(count * cells, 0.0);
    std::vector<BoxesTask> tasks(count);
    Pool::run(count, rows.threads(), [&](std::size_t t) {
        double* own = partial.data() + t * cells;
        tasks[t] = {spans * t / count,
                    spans * (t + 1) / count,
                    before ? before->owners.data() : nullptr,
                    before ? before->rows.data() : nullptr,
                    after.owners.data(),
                    after.rows.data(),
                    own,
                    own + components,
                    0};
        chosen->packed<T>().boxes(rows.view(), model, tree, tasks[t]);
    });
    std::int64_t changed = 0;
    for (const BoxesTask& task : tasks) {
        changed += task.changed;
        totals.add(task.counts, task.sums);
    }
    return changed;
}

}  // namespace kmle
