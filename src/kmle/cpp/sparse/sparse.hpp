// Rows of which only the entries that are not zero are stored (compressed sparse rows), whose statistics are the rows
// themselves. Nothing of them is copied.
//
// Components stand side by side: each stored entry adds its value times one line of parameters to the scores of all of
// them. A score begins with the bias, and entries are added in the order they are stored in, each product rounded
// before it is added (no fused multiply-add, see CMakeLists.txt). For entries in the order of their columns that is
// what `exact_label` computes: labels are those of filled-in rows, on every instruction set.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packed.hpp"

namespace kmle {

// Components are padded to whole lines of the cache.
constexpr std::size_t line_components = 8;

template <class Value, class Index>
struct SparseRows {
    const Value* values;    // [entry]
    const Index* columns;   // [entry]
    const Index* starts;    // [row + 1]: the first entry of each row
    const double* weights;  // [row], or null
    std::size_t rows;

    std::size_t first(std::size_t i) const { return static_cast<std::size_t>(starts[i]); }
    double weight(std::size_t i) const { return weights ? weights[i] : 1.0; }
};

// Inactive components, and those that pad, have a bias of -inf and parameters of zero.
struct SparseModel {
    const double* table;  // [column][width]
    const double* bias;   // [width]
    std::size_t components, width;
};

// Rows whose responsibilities are wanted, and where to put them.
struct SoftRows {
    std::size_t first, last;
    std::size_t kept;       // how many responsibilities of a row count
    double* shares;         // [row - first][width]: weighted responsibilities; null: not wanted
    double score, entropy;  // weighted sums of log sum exp(scores kept), and of the entropies of responsibilities
    const RowScores* rows = nullptr;  // what is reported of each row by itself
};

}  // namespace kmle
