// Gaussians of many columns, each with a covariance of its own, scored by triangular factors:
//
//     score_j(y) = constant_j - |A_j y - shift_j|^2 / 2,    A_j lower triangular.
//
// Row r of A_j sees the first r + 1 columns of y only, so the first residuals are cheap, and their squares already
// bound the score from above. A component whose bound falls below the score of another is given up; where the first
// columns tell components apart, nearly all are given up after a few of them. The bounds allow for rounding, and near
// ties are decided by `exact_panels_score`: no label depends on when a component was given up.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/passes.hpp"
#include "panels/products.hpp"

namespace kmle {

// Residuals are computed this many rows of A at a time.
constexpr std::size_t panel = 16;
// The first panel is computed lane by lane on blocks of this many rows of data.
constexpr std::size_t panels_block = block_rows<double>;
// Rows of data worked on together: enough to share what is loaded of A, few enough to stay in the cache.
constexpr std::size_t panels_chunk = 32 * panels_block;

struct PanelsData {
    const double* values;   // [row][column]
    const double* leading;  // [block][column < leading_columns()][row of the block]; rows past the last are zero
    const double* norms;    // [row]: |y|, zero past the last
    std::size_t rows, columns;

    std::size_t leading_columns() const { return columns < panel ? columns : panel; }
    std::size_t chunks() const { return rounded_up(rows, panels_chunk) / panels_chunk; }
};

// Dead components have a constant of -inf.
struct PanelsModel {
    const double* factors;    // [component][panel][column][row of the panel], see panel_columns and panel_offset
    const double* shifts;     // [component][row], padded with zeros to whole panels
    const double* constants;  // [component]
    const double* guesses;    // [component]: the constants of the marginals of the leading columns
    const double* norms;      // [component]: |A|, Frobenius
    const double* shift_norms;
    std::size_t components, columns;

    std::size_t panels() const { return rounded_up(columns, panel) / panel; }
    std::size_t panel_columns(std::size_t p) const { return columns < (p + 1) * panel ? columns : (p + 1) * panel; }
    // All panels before p are as wide as they can be.
    std::size_t panel_offset(std::size_t p) const { return panel * panel * p * (p + 1) / 2; }
    std::size_t factor_size() const { return panel_offset(panels() - 1) + panel * panel_columns(panels() - 1); }
    const double* factor(std::size_t j, std::size_t p) const { return factors + j * factor_size() + panel_offset(p); }
    const double* shift(std::size_t j, std::size_t p) const { return shifts + (j * panels() + p) * panel; }
    bool alive(std::size_t j) const { return constants[j] > -std::numeric_limits<double>::infinity(); }
};

// Score of one row, each residual summed in the order of the columns and rounded at every operation (no fused
// multiply-add), then their squares in the order of the rows. wide_reference.py does the same. In wide_exact.cpp.
double exact_panels_score(const PanelsModel& model, std::size_t j, const double* row);

// One for each instruction set that was compiled (see wide.cpp).
struct PanelsPasses {
    // Gives the rows of one chunk their best components; returns how many labels changed. A label says where to begin,
    // a negative one that there is none yet.
    std::int64_t (*hard)(const PanelsData& data, const PanelsModel& model, std::size_t chunk, std::int32_t* labels);
    // What is reported of each row of one chunk, and the entropies of responsibilities unless null; labels say where to
    // begin. Components that add nothing to a row's sum are given up, unless their scores are wanted: they have no
    // share.
    void (*log_likelihood)(const PanelsData& data, const PanelsModel& model, std::size_t chunk, const std::int32_t* labels,
                     const RowScores& out, double* entropies);
    // Responsibilities of the rows of one chunk times their weights: of component j those from edges[j] to edges[j +
    // 1]. At most `kept` of each row count. Returns the weighted sum of the log-likelihood; labels become the best
    // components.
    double (*shares)(const PanelsData& data, const PanelsModel& model, std::size_t chunk, std::int32_t* labels,
                     const double* weights, std::size_t kept, Member* members, std::uint32_t* edges);
};

}  // namespace kmle
