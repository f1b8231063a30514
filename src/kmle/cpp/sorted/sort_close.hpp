// Sorting where keys are spread rather evenly, as neighbours along a line are.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kmle {

// Each element is brought to one of as many cells as there are elements, by where its key lies between the least and
// the greatest; what then shares a cell is sorted. Where keys are spread evenly, few do.
template <class Element, class Key>
void sort_close(Element* elements, std::size_t count, const Key& key) {
    if (count < 2) return;
    // NaN comes last: sorting needs an order of all values.
    const auto is_before = [&](const Element& a, const Element& b) {
        return key(a) < key(b) || (key(b) != key(b) && key(a) == key(a));
    };
    const auto [least, greatest] = std::minmax_element(elements, elements + count, is_before);
    if (key(*greatest) != key(*greatest)) {
        std::stable_sort(elements, elements + count, is_before);
        return;
    }
    const double low = static_cast<double>(key(*least)), width = static_cast<double>(key(*greatest)) - low;
    const double scale = static_cast<double>(count - 1) / width;
    // Neither holds where all are equal, or nearly so, or as far apart as numbers can be.
    if (!(width > 0 && scale * width < static_cast<double>(count))) {
        std::sort(elements, elements + count);
        return;
    }
    // Differences and products round in order, so cells are in the order of keys.
    const auto cell_of = [&](const Element& element) {
        return static_cast<std::size_t>((static_cast<double>(key(element)) - low) * scale);
    };
    std::vector<std::uint32_t> next(count + 1, 0);
    for (std::size_t i = 0; i < count; ++i) ++next[cell_of(elements[i]) + 1];
    for (std::size_t c = 1; c <= count; ++c) next[c] += next[c - 1];
    const std::vector<Element> before(elements, elements + count);
    for (const Element& element : before) elements[next[cell_of(element)]++] = element;
    std::uint32_t first = 0;
    for (std::size_t c = 0; c < count; first = next[c++])  // each is now at the end of its cell
        if (next[c] - first > 1) std::sort(elements + first, elements + next[c]);
}

}  // namespace kmle
