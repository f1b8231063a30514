// Residuals of rows of many columns, panel by panel, and bounds on their rounding (Shewchuk 1997).

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/simd.hpp"
#include "panels/panels.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Rows whose residuals are computed together, two registers of residuals each: as many sums as hide the latency.
constexpr std::size_t tile = vector_bytes == 64 ? 8 : 4;
constexpr std::size_t tile_registers = 2;
// Registers of rows and rows of A in the lane-by-lane first panel.
constexpr std::size_t strip = vector_bytes == 64 ? 4 : 2;

// Like broadcast, but free: x - 0 is x, so nothing is left of the subtraction, whereas 0 + x is not x for x = -0.
inline Vec<double> everywhere(double value) { return value - Vec<double>{}; }

// Adds the squares of one panel of residuals of `tile` rows to their sums.
void add_panel(const double* factor, const double* shift, std::size_t columns, const double* const (&rows)[tile],
               double (&sums)[tile]) {
    constexpr std::size_t width = lanes<double>, step = tile_registers * width;
    Vec<double> squares[tile] = {};
    for (std::size_t r = 0; r < panel; r += step) {
        Vec<double> residuals[tile][tile_registers];
        for (std::size_t t = 0; t < tile; ++t)
            for (std::size_t v = 0; v < tile_registers; ++v) residuals[t][v] = -load(shift + r + v * width);
        const double* coefficients = factor + r;
        for (std::size_t c = 0; c < columns; ++c, coefficients += panel) {
            Vec<double> loaded[tile_registers];
#pragma GCC unroll 2
            for (std::size_t v = 0; v < tile_registers; ++v) loaded[v] = load(coefficients + v * width);
#pragma GCC unroll 8
            for (std::size_t t = 0; t < tile; ++t) {
                const Vec<double> value = everywhere(rows[t][c]);
#pragma GCC unroll 2
                for (std::size_t v = 0; v < tile_registers; ++v) residuals[t][v] += loaded[v] * value;
            }
        }
        for (std::size_t t = 0; t < tile; ++t)
            for (std::size_t v = 0; v < tile_registers; ++v) squares[t] += residuals[t][v] * residuals[t][v];
    }
    for (std::size_t t = 0; t < tile; ++t)
        for (std::size_t lane = 0; lane < width; ++lane) sums[t] += squares[t][lane];
}

// Sums of the squares of the first panel of residuals of a whole block.
void first_panel(const double* leading, std::size_t columns, const double* factor, const double* shift, double* sums) {
    constexpr std::size_t width = lanes<double>;
    for (std::size_t i = 0; i < panels_block; i += strip * width) {
        Vec<double> squares[strip] = {};
        for (std::size_t r = 0; r < panel; r += group) {
            Vec<double> residuals[group][strip];
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) residuals[g][v] = everywhere(-shift[r + g]);
            const std::size_t last = std::min(columns, r + group);  // A is triangular
            for (std::size_t c = 0; c < last; ++c) {
#pragma GCC unroll 4
                for (std::size_t g = 0; g < group; ++g) {
                    const Vec<double> coefficient = everywhere(factor[c * panel + r + g]);
#pragma GCC unroll 4
                    for (std::size_t v = 0; v < strip; ++v)
                        residuals[g][v] += coefficient * load(leading + c * panels_block + i + v * width);
                }
            }
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) squares[v] += residuals[g][v] * residuals[g][v];
        }
        for (std::size_t v = 0; v < strip; ++v) store(sums + i + v * width, squares[v]);
    }
}

// Bounds on rounding. Two computations of the residuals, of any order of summation, differ by a vector no longer
// than 2 slack (|A| |y| + |shift|); two sums of their squares by a factor of 1 + 2 slack more.
struct Rounding {
    explicit Rounding(const PanelsModel& model)
        : model_(model), slack_(static_cast<double>(model.columns + 8) * epsilon) {}

    double residuals(std::size_t j, double norm) const {
        return 2 * slack_ * (model_.norms[j] * norm + model_.shift_norms[j]);
    }

    // A partial sum of squares above this proves that the exact score of j lies below `low`. From |a| + |b| the square
    // follows without a root: (a + b)^2 <= (1 + s) a^2 + (1 + 1/s) b^2 for any s > 0; half of s pays for `slack`.
    double limit(std::size_t j, double norm, double low) const {
        constexpr double s = 1.0 / (1 << 20);
        const double constant = model_.constants[j], length = residuals(j, norm);
        const double gap = 2 * (constant - low) + 8 * epsilon * (std::abs(constant) + std::abs(low));
        return gap < 0 ? -1.0 : (1 + 2 * s) * gap + (2 + 1 / s) * length * length;
    }

    // A bound on the distance of a score computed here, with this sum of squares, from the exact one.
    double score(std::size_t j, double norm, double sum) const {
        const double length = residuals(j, norm);
        return 2 * slack_ * (sum + std::abs(model_.constants[j])) + 2 * length * (std::sqrt(sum) + length);
    }

private:
    const PanelsModel& model_;
    double slack_;
};

}  // namespace
}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
