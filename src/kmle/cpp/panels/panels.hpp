// Gaussians of many columns with full covariances, scored by triangular factors (partial distances, as in vector
// quantization: Bei and Gray 1985):
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

#include "core/packed.hpp"
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

// Inactive components have a constant of -inf.
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
    bool active(std::size_t j) const { return constants[j] > -std::numeric_limits<double>::infinity(); }
};

// Score of one row, each residual summed in the order of the columns and rounded at every operation (no fused
// multiply-add), then their squares in the order of the rows. engines/panels/reference.py does the same. In
// exact_score.cpp.
double exact_panels_score(const PanelsModel& model, std::size_t j, const double* row);

}  // namespace kmle
