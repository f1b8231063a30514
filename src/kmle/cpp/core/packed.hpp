// Packed rows and components, as the passes see them.
//
// Rows are packed in blocks: of one column, `block_rows` values lie together, so that a vector register holds the same
// column of neighbouring rows. Scores, the best component and exponentials are then computed lane by lane, without any
// operation across lanes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace kmle {

// 256 bytes of each column: four registers of AVX-512, eight of AVX2, sixteen of SSE or NEON.
template <class T>
constexpr std::size_t block_rows = 256 / sizeof(T);

// Components are scored in groups of this many, so that each loaded value of a row is used that often.
constexpr std::size_t group = 4;

constexpr std::size_t rounded_up(std::size_t size, std::size_t step) { return (size + step - 1) / step * step; }

// How the statistics t(x) follow from the packed columns: as they are, with their squares, or with all their products.
enum class Features : int { identity, diagonal, quadratic };

constexpr std::size_t n_statistics_of(Features features, std::size_t columns) {
    switch (features) {
        case Features::diagonal: return 2 * columns;
        case Features::quadratic: return columns + columns * (columns + 1) / 2;
        default: return columns;
    }
}

template <class T>
struct Packed {
    const T* values;        // [block][column][row of the block]; rows past the last are zero
    const double* largest;  // [block][column]: the largest |value|, which bounds the rounding of scores
    const double* weights;  // one for each row, or null
    std::size_t rows, columns, n_statistics;
    Features features;

    std::size_t blocks() const { return rounded_up(rows, block_rows<T>) / block_rows<T>; }
    const T* block(std::size_t b) const { return values + b * columns * block_rows<T>; }
    double weight(std::size_t i) const { return weights ? weights[i] : 1.0; }
};

// Scores with packed statistics whose rounding may exceed this, in nats, are not used where there are others: in
// sums over rows, and where each row's scores are reported.
constexpr double score_error = 1e-6, row_score_error = 1e-9;

// Components as c_j - |L_j^T (x - m_j)|^2 / 2 + <y, l_j>, x being some of the packed columns and y others: scores
// without products of columns.
struct Centered {
    const std::size_t* places;         // [column]: where x is among the packed columns
    const std::size_t* linear_places;  // [linear]: and y
    const double* mean;                // [component][column]
    const double* linear;              // [component][linear]
    const double* factor;              // [component]: the diagonal of L, or its lower triangle, column after column
    const double* constant;            // [component]; -inf where inactive
    const double* magnitudes;          // [1 + statistic][component], padded: |bias| and |natural|, zero where inactive
    // [1 + column][component], padded: lengths of the lines of L, the first their products with |mean| added up.
    const float* reach;
    std::size_t columns, length, linear_columns;
    bool triangular;
    bool carried;  // scores with statistics are higher by half the squares of some entries of L^T x, with the same L
    const std::uint8_t* carried_columns;  // [column]: of these; for them L has no entries in other columns

    const double* mean_of(std::size_t j) const { return mean + j * columns; }
    const double* linear_of(std::size_t j) const { return linear + j * linear_columns; }
    const double* factor_of(std::size_t j) const { return factor + j * length; }
    bool active(std::size_t j) const { return constant[j] >= std::numeric_limits<double>::lowest(); }
};

// Natural parameters and biases, both exactly as given and grouped for the passes. An inactive component has a bias of
// -inf and natural parameters of zero.
template <class T>
struct Model {
    const T* grouped;       // [group of components][statistic][component of the group], padded with inactive components
    const T* grouped_bias;  // [component], padded likewise
    const double* natural;  // [component][statistic]
    const double* bias;     // [component]
    const double* largest;  // [statistic]: the largest |natural| of any component
    double largest_bias;
    std::size_t components, n_statistics;
    // [1 + statistic][component], padded: |bias| and |natural|, zero where inactive; only in single precision, else
    // null.
    const float* magnitudes = nullptr;
    // Only in double precision, where components have such a form and scores with statistics are not good enough.
    const Centered* centered = nullptr;

    std::size_t padded() const { return rounded_up(components, group); }
};

// What is reported of each row, by itself and without its weight; null where not wanted.
struct RowScores {
    double* log_sums;  // [row]: log sum exp(scores)
    double* tops;      // [row]: the highest score
    double* shares;    // [row][component]: responsibilities
    double* scores;    // [row][component]
    bool
        centered;  // all scores are those of `Centered`, and what those of packed statistics exceed them by is left out
};

// Statistics of one row in double, whatever T is; its columns lie `stride` apart.
template <class T>
static void expand(Features features, std::size_t columns, const T* values, std::size_t stride, double* out) {
    for (std::size_t a = 0; a < columns; ++a) out[a] = values[a * stride];
    if (features == Features::diagonal)
        for (std::size_t a = 0; a < columns; ++a) out[columns + a] = out[a] * out[a];
    if (features == Features::quadratic) {
        double* product = out + columns;
        for (std::size_t a = 0; a < columns; ++a)
            for (std::size_t b = a; b < columns; ++b) *product++ = out[a] * out[b];
    }
}

// Statistics of a packed row.
template <class T>
static void row_statistics(const Packed<T>& packed, std::size_t i, double* out) {
    expand(packed.features, packed.columns, packed.block(i / block_rows<T>) + i % block_rows<T>, block_rows<T>, out);
}

// The label of a row whose best scores nearly tie: scores summed in the order of the statistics, rounded at every
// operation (no fused multiply-add), the lowest index on a tie. reference.py does the same, so labels never depend on
// the instruction set, the precision of the pass or the language. Compiled once, in exact.cpp.
std::int32_t exact_label(const double* statistics, const double* natural, const double* bias, std::size_t components,
                         std::size_t n_statistics);

}  // namespace kmle
