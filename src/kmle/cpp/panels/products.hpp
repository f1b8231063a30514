// Weighted sums of rows and of the products of their columns, for each component:
//
//     sum over members of share * (x, 1) (x, 1)^T,    x the row centered.
//
// The upper triangle is held in bands of `band_rows` rows of the matrix, each from its diagonal on. Bands are summed
// independently of each other, each in the order of the members: no digit depends on the number of threads.

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packed.hpp"

namespace kmle {

constexpr std::size_t band_rows = 8;
// Bands that are summed together: rows are gathered once for all of them.
constexpr std::size_t bands_at_once = 8;

// Rows as they were given, in one of two precisions; the columns of a row lie together.
struct CenteredRows {
    const double* doubles;  // [row][column], or null
    const float* singles;
    const double* center;  // [column]
    std::size_t stride, columns;
};

// A row of a component, and how much of it.
struct Member {
    std::uint32_t row;
    double share;
};

// Where the bands of one component lie; the last column of the matrix is the constant one.
struct Bands {
    std::size_t columns;

    std::size_t count() const { return rounded_up(columns + 1, band_rows) / band_rows; }
    std::size_t width(std::size_t band) const { return rounded_up(columns + 1, band_rows) - band * band_rows; }
    std::size_t offset(std::size_t band) const {
        return band_rows * band_rows * (band * count() - band * (band - 1) / 2);  // widths fall by `band_rows`
    }
    std::size_t size() const { return offset(count()); }
    std::size_t tasks() const { return rounded_up(count(), bands_at_once) / bands_at_once; }
};

}  // namespace kmle
