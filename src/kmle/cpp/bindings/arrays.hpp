// Arrays as Python gives them, and how they are checked before anything is done. nanobind checks types, numbers of
// dimensions and contiguity; bindings check shapes, and the range of what indexes memory.

#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>

namespace kmle {

namespace nb = nanobind;

template <class T, std::size_t dimensions>
using Contiguous = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = Contiguous<T, 1>;
template <class T>
using Matrix = Contiguous<T, 2>;
// Of any strides: only for what is read through them.
template <class T, std::size_t dimensions>
using Strided = nb::ndarray<T, nb::ndim<dimensions>, nb::device::cpu>;

inline void require(bool holds, const char* sentence) {
    if (!holds) throw std::invalid_argument(sentence);
}

template <class Shape>
std::string written(const Shape& shape, std::size_t dimensions) {
    std::string text = "(";
    for (std::size_t a = 0; a < dimensions; ++a)
        text += std::to_string(shape(a)) + (dimensions == 1 || a + 1 < dimensions ? "," : "");
    return text + ")";
}

template <class Array>
void require_shape(const char* name, const Array& array, std::initializer_list<std::size_t> wanted) {
    bool fits = true;
    for (std::size_t a = 0; a < wanted.size(); ++a) fits &= array.shape(a) == wanted.begin()[a];
    if (fits) return;
    throw std::invalid_argument(std::string(name) + " must have shape " +
                                written([&](std::size_t a) { return wanted.begin()[a]; }, wanted.size()) + ", got " +
                                written([&](std::size_t a) { return array.shape(a); }, wanted.size()) + ".");
}

// Of labels and places, which are to lie below a number; negative ones may stand for none.
template <class Labels>
void require_below(const char* name, const Labels& values, std::size_t number, bool or_none) {
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    const std::int32_t limit = static_cast<std::int32_t>(std::min<std::size_t>(number, most));
    const std::int32_t lowest = or_none ? std::numeric_limits<std::int32_t>::min() : 0;
    const std::int32_t* value = values.data();
    std::int32_t outside = 0;
    for (std::size_t i = 0; i < values.shape(0); ++i) outside |= (value[i] >= limit) | (value[i] < lowest);
    if (!outside) return;
    const std::int32_t* end = value + values.shape(0);
    const std::int32_t wrong = *std::find_if(value, end, [&](std::int32_t v) { return v >= limit || v < lowest; });
    throw std::invalid_argument(std::string(name) + " must lie below " + std::to_string(number) +
                                (or_none ? "" : ", and none may be negative") + "; got " + std::to_string(wrong) + ".");
}

// Components must have this many statistics each.
template <class Natural, class Bias>
void require_components(const Natural& natural, const Bias& bias, std::size_t n_statistics) {
    require(natural.shape(0) > 0, "natural must have at least one component.");
    require_shape("natural", natural, {natural.shape(0), n_statistics});
    require_shape("bias", bias, {natural.shape(0)});
}

template <class Counts, class Sums>
void require_totals(const Counts& counts, const Sums& sums, std::size_t components, std::size_t n_statistics) {
    require_shape("counts", counts, {components});
    require_shape("sums", sums, {components, n_statistics});
}

inline void require_kept(std::size_t kept, std::size_t components) {
    require(kept > 0 && kept <= components, "kept must be at least one, and at most the number of components.");
}

// There must be room for this many rows from `first` on.
inline void require_room(std::size_t first, std::size_t count, std::size_t rows) {
    require(first <= rows && count <= rows - first, "first and the number of rows given must lie within all rows.");
}

// The size of a table, which must be one that memory could have.
inline std::size_t table_size(std::size_t rows, std::size_t columns) {
    std::size_t size = 0;
    require(!__builtin_mul_overflow(rows, columns, &size) && size <= std::numeric_limits<std::size_t>::max() >> 8,
            "rows times columns must be a size of memory.");
    return size;
}

}  // namespace kmle
