// What passes add up and report, as Python holds it: a few arrays each, which exist as long as the object does.
//
// Types, contiguity and shapes that must agree within an object are checked when it is made. Whether it fits the rows
// and the components is checked by each pass, and so is what indexes memory: Python may write to the arrays in between.

#pragma once

#include <optional>

#include "bindings/arrays.hpp"
#include "core/packed.hpp"

namespace kmle {
namespace given {

// Counts (k,) and sums of statistics (k, D).
struct Totals {
    Vector<double> counts;
    Matrix<double> sums;

    Totals(const Vector<double>& counts, const Matrix<double>& sums) : counts(counts), sums(sums) {
        require_totals(counts, sums, counts.shape(0), sums.shape(1));
    }

    std::size_t components() const { return counts.shape(0); }

    void require_fit(std::size_t components, std::size_t n_statistics) const {
        require_totals(counts, sums, components, n_statistics);
    }

    // Adds partial results of the components from `first` on.
    void add(const double* part_counts, const double* part_sums, std::size_t first, std::size_t components) const {
        const std::size_t n_statistics = sums.shape(1);
        for (std::size_t j = 0; j < components; ++j) counts.data()[first + j] += part_counts[j];
        double* total = sums.data() + first * n_statistics;
        for (std::size_t c = 0; c < components * n_statistics; ++c) total[c] += part_sums[c];
    }
    void add(const double* part_counts, const double* part_sums) const { add(part_counts, part_sums, 0, components()); }
};

// Labels (n,), numbers of rows (k,), and what the rows add up to.
struct Clusters {
    Vector<std::int32_t> labels;
    Vector<std::int64_t> sizes;
    Totals totals;

    Clusters(const Vector<std::int32_t>& labels, const Vector<std::int64_t>& sizes, const Vector<double>& counts,
             const Matrix<double>& sums)
        : labels(labels), sizes(sizes), totals(counts, sums) {
        require_shape("sizes", sizes, {counts.shape(0)});
    }

    void require_fit(std::size_t rows, std::size_t components, std::size_t n_statistics) const {
        totals.require_fit(components, n_statistics);
        require_shape("labels", labels, {rows});
    }

    // No row has a label yet.
    bool none_has_rows() const {
        return std::all_of(sizes.data(), sizes.data() + sizes.shape(0), [](auto size) { return size == 0; });
    }
};

// What is reported of each row, where it is wanted: numbers (n,) and tables (n, k).
struct RowScores {
    std::optional<Vector<double>> log_sums, tops;
    std::optional<Matrix<double>> shares, scores;

    RowScores(const std::optional<Vector<double>>& log_sums, const std::optional<Vector<double>>& tops,
              const std::optional<Matrix<double>>& shares, const std::optional<Matrix<double>>& scores)
        : log_sums(log_sums), tops(tops), shares(shares), scores(scores) {
        if (log_sums && tops) require_shape("tops", *tops, {log_sums->shape(0)});
        if (shares && scores) require_shape("scores", *scores, {shares->shape(0), shares->shape(1)});
    }

    void require_fit(std::size_t rows, std::size_t components) const {
        if (log_sums) require_shape("log_sums", *log_sums, {rows});
        if (tops) require_shape("tops", *tops, {rows});
        if (shares) require_shape("shares", *shares, {rows, components});
        if (scores) require_shape("scores", *scores, {rows, components});
    }

    bool any() const { return log_sums || tops || shares || scores; }

    kmle::RowScores view(bool centered) const {
        return {log_sums ? log_sums->data() : nullptr, tops ? tops->data() : nullptr, shares ? shares->data() : nullptr,
                scores ? scores->data() : nullptr, centered};
    }
};

}  // namespace given
}  // namespace kmle
