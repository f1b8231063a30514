// Boxes around rows and labels of their groups, as Python holds them (see totals.hpp). `Level` and `Tree` in
// boxes/tree.hpp say what each array is.

#pragma once

#include <vector>

#include "bindings/bounds_state.hpp"
#include "boxes/tree.hpp"

namespace kmle {
namespace given {

// Spans of `rows_each` rows: centers and halves (m, d), totals (m, 1 + D).
struct Level {
    std::size_t rows_each;
    Matrix<const double> centers, halves, totals;

    Level(std::size_t rows_each, const Matrix<const double>& centers, const Matrix<const double>& halves,
          const Matrix<const double>& totals)
        : rows_each(rows_each), centers(centers), halves(halves), totals(totals) {
        span_count(0, rows_each);
        require_shape("halves", halves, {spans(), centers.shape(1)});
        require_shape("totals", totals, {spans(), totals.shape(1)});
    }

    std::size_t spans() const { return centers.shape(0); }

    void require_fit(std::size_t rows, std::size_t columns, std::size_t n_statistics) const {
        const std::size_t count = span_count(rows, rows_each);
        require_shape("centers", centers, {count, columns});
        require_shape("totals", totals, {count, n_statistics + 1});
    }
};

// Levels from the coarsest to the finest. Spans of a level are whole numbers of those of the next, and those of the
// last are groups.
struct Boxes {
    std::vector<Level> levels;

    explicit Boxes(const std::vector<Level>& levels) : levels(levels) {
        require(!levels.empty(), "boxes must have at least one level.");
        require(levels.back().rows_each == batch_rows, "the last level must have spans of 64 rows.");
        for (std::size_t l = 0; l + 1 < levels.size(); ++l)
            require(levels[l].rows_each % levels[l + 1].rows_each == 0,
                    "rows_each of a level must be a multiple of that of the next.");
    }

    void require_fit(std::size_t rows, std::size_t columns, std::size_t n_statistics) const {
        for (const Level& level : levels) level.require_fit(rows, columns, n_statistics);
    }
};

// The components to try in each of the coarsest spans: names[starts[s] : starts[s + 1]] in span s.
struct Candidates {
    Vector<const std::int64_t> starts;
    Vector<const std::int32_t> names;

    Candidates(const Vector<const std::int64_t>& starts, const Vector<const std::int32_t>& names)
        : starts(starts), names(names) {
        require_order();
    }

    void require_fit(std::size_t spans, std::size_t components) const {
        require_shape("starts", starts, {spans + 1});
        require_order();
        require_below("names", names, components, false);
    }

private:
    void require_order() const {
        require(starts.shape(0) > 0, "starts must have one more entry than there are spans.");
        const std::int64_t *first = starts.data(), *last = first + starts.shape(0) - 1;
        require(*first >= 0 && std::is_sorted(first, last + 1) && *last <= static_cast<std::int64_t>(names.shape(0)),
                "starts must not decrease, and lie within the names.");
    }
};

// Owners of groups of 64 rows (-1: of several), and labels of rows (n,).
struct GroupLabels {
    Vector<std::int32_t> owners, rows;

    GroupLabels(const Vector<std::int32_t>& owners, const Vector<std::int32_t>& rows) : owners(owners), rows(rows) {
        require_shape("owners", owners, {span_count(rows.shape(0), batch_rows)});
    }

    void require_fit(std::size_t count) const { require_shape("rows", rows, {count}); }
};

}  // namespace given
}  // namespace kmle
