// What the packing of rows of a table works on (see pack.cpp).

#pragma once

#include "columns/summary.hpp"
#include "core/packed.hpp"

namespace kmle {

template <class From>
struct PackSource {
    const From* values;
    std::int64_t row_stride, column_stride;
    const std::int32_t* places;  // [row]: which row of the table it is; null: the same
    const double* shift;         // [column]: taken off the values
    std::size_t rows, columns;

    const From* at(std::size_t row, std::size_t column) const {
        const std::int64_t place = places ? std::int64_t{places[row]} : static_cast<std::int64_t>(row);
        return values + place * row_stride + static_cast<std::int64_t>(column) * column_stride;
    }
};

// Blocks from `first` to `last`, packed to `values` with the `largest` of their columns, as in Packed. Where a summary
// is wanted, it is that of the values as they are in the table; there are no totals.
template <class To>
struct PackTask {
    std::size_t first, last;
    To* values;
    double* largest;
    Summary* summary;
};

}  // namespace kmle
