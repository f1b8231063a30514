// What passes over rows of a table work on, where they lie (see table.cpp).

#pragma once

#include "core/packed.hpp"

namespace kmle {

// Number of rows that are scored at a time.
constexpr std::size_t table_rows = 4;
// Columns and components are padded to whole registers of the widest kind.
constexpr std::size_t table_padding = 16;

template <class T>
struct Table {
    const T* values;  // [row][column]
    std::size_t columns;
    const double* shift;       // [column], padded: taken off the values
    const double* natural;     // [component][column], both padded with zeros
    const float* single;       // the same in single precision
    const float* single_bias;  // [component], padded with minus infinity
    const double* sizes;       // [column], padded: the largest |natural| of any component
    Model<double> model;

    std::size_t stride() const { return rounded_up(columns, table_padding); }
    std::size_t padded() const { return rounded_up(model.components, table_padding); }
};

// Rows from `first` to `last`: their labels (or null), what is reported of each (or null), and their summary.
struct TableTask {
    std::size_t first, last;
    std::int32_t* labels;
    const RowScores* out;
    double *lowest, *highest;  // [column]
    double shortest, longest;  // squared lengths of rows
    bool finite, whole;        // as in Summary, but values whose scores overflow do not count as finite
};

}  // namespace kmle
