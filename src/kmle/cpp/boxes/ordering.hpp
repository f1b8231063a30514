// An order of rows in which neighbours are close: parts of parts, each cut across the widest column.
//
// A histogram of the column tells where the cuts fall but for the rows of one bin each; one pass puts rows on their
// side, and only those bins are examined more closely. Rows are moved, not pointed to: what is compared lies together.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "core/packed.hpp"
#include "core/pool.hpp"

namespace kmle {

// Cutting into many parts at once is quicker, into few makes for boxes more nearly square.
constexpr std::size_t most_parts = 16;

// The size of each of the parts that `count` rows are cut into, except that the last may be smaller: leaves times a
// power of two, so that spans of any such size are whole parts, or neighbouring ones. Cuts across one column are as
// many at once as its share of all that are to come, if every column has the same: rounded up where columns are few,
// and down where they are many, since which is the widest then changes with every cut.
inline std::size_t part_size(std::size_t count, std::size_t leaf, std::size_t columns) {
    std::size_t halvings = 0;
    while ((leaf << halvings) < count) ++halvings;
    std::size_t parts = 2;
    for (std::size_t share = columns + (columns <= 3 ? 1 : columns); share <= halvings && parts < most_parts;
         share += columns)
        parts *= 2;
    return (leaf << halvings) / parts;
}

// Rows of Width columns, or of `width` where Width is zero, and where each stood at first.
template <class T, std::size_t Width>
class Ordering {
public:
    Ordering(T* rows, std::int32_t* places, std::size_t count, std::size_t width, std::size_t leaf)
        : width_(Width ? Width : width), leaf_(leaf), rows_(rows), places_(places),
          spare_rows_(aligned<T>(count * width_)), spare_places_(aligned<std::int32_t>(count)), count_(count) {}

    void run(std::size_t threads) {
        // The first cut is made by all threads together; the next come one after the other, so that there are parts
        // enough to share out.
        Pool::run(rounded_up(count_, shared) / shared, threads, [&](std::size_t task) {
            for (std::size_t i = task * shared; i < std::min(count_, (task + 1) * shared); ++i)
                places_[i] = static_cast<std::int32_t>(i);
        });
        std::vector<Part> parts = cut({0, count_, false}, threads);
        std::vector<std::vector<Part>> smaller(parts.size());
        Pool::run(parts.size(), threads, [&](std::size_t p) { smaller[p] = cut(parts[p], 1); });
        parts.clear();
        for (const auto& some : smaller) parts.insert(parts.end(), some.begin(), some.end());
        Pool::run(parts.size(), threads, [&](std::size_t p) { cut_up(parts[p]); });
    }

private:
    // Rows that are still to be ordered among themselves, and whether they are in the spare arrays.
    struct Part {
        std::size_t first, last;
        bool spare;
        std::size_t size() const { return last - first; }
    };

    struct Rows {
        T* values;
        std::int32_t* places;
    };

    static constexpr std::size_t samples = 256, fewest_bins = 64, most_bins = 1024;
    // Rows that a thread takes at a time where several share a part.
    static constexpr std::size_t shared = 1 << 16;

    // Where the next row of each segment goes.
    using Next = std::array<std::size_t, 2 * most_parts>;

    std::size_t width() const { return Width ? Width : width_; }
    Rows at(bool spare) { return spare ? Rows{spare_rows_.get(), spare_places_.get()} : Rows{rows_, places_}; }

    void copy(const Rows& from, std::size_t i, const Rows& to, std::size_t j) const {
        for (std::size_t a = 0; a < width(); ++a) to.values[j * width() + a] = from.values[i * width() + a];
        to.places[j] = from.places[i];
    }

    // Rows that need no further cut end up where they are wanted.
    void finish(const Part& part) {
        if (!part.spare) return;
        for (std::size_t i = part.first; i < part.last; ++i) copy(at(true), i, at(false), i);
    }

    void cut_up(const Part& part) {
        for (const Part& smaller : cut(part, 1)) cut_up(smaller);
    }

    // The widest column of a part and its range, by some of its rows: enough to cut well, whatever the outliers.
    std::size_t widest(const Part& part, T& low, T& high) {
        const Rows from = at(part.spare);
        std::size_t found = 0;
        low = high = T(0);
        for (std::size_t a = 0; a < width(); ++a) {
            T smallest = std::numeric_limits<T>::infinity(), largest = -smallest;
            for (std::size_t i = part.first; i < part.last; i += part.size() / samples + 1) {
                const T x = from.values[i * width() + a];
                smallest = std::min(smallest, x);
                largest = std::max(largest, x);
            }
            if (largest - smallest > high - low) {
                low = smallest;
                high = largest;
                found = a;
            }
        }
        return found;
    }

    // Cuts a part into smaller ones and returns those that are to be cut again. Several threads share its rows.
    std::vector<Part> cut(const Part& part, std::size_t threads) {
        T low = 0, high = 0;
        const std::size_t column = part.size() > leaf_ ? widest(part, low, high) : 0;
        const std::size_t bins = std::min(most_bins, std::max(fewest_bins, part.size() / 4));
        const T scale = static_cast<T>(bins) / (high - low), last_bin = static_cast<T>(bins - 1);
        if (part.size() <= leaf_ || !(scale > 0) || scale > std::numeric_limits<T>::max()) {
            finish(part);
            return {};
        }
        const Rows from = at(part.spare), to = at(!part.spare);
        // Values outside the range of the sample belong to the outermost bins.
        const auto bin_of = [&](std::size_t i) {
            const T place = (from.values[i * width() + column] - low) * scale;
            return static_cast<std::int32_t>(std::min(std::max(T(0), place), last_bin));  // NaN too
        };
        const std::size_t spans = threads > 1 ? rounded_up(part.size(), shared) / shared : 1;
        const auto edge = [&](std::size_t s) { return part.first + part.size() * s / spans; };
        // How many rows of each span are in each bin; one span, as there mostly is, needs no memory for it.
        std::uint32_t alone[most_bins];
        std::fill_n(alone, bins, 0);
        std::vector<std::uint32_t> several(spans > 1 ? spans * bins : 0);
        const auto counts = [&](std::size_t s) { return spans > 1 ? several.data() + s * bins : alone; };
        Pool::run(spans, threads, [&](std::size_t s) {
            std::uint32_t* own = counts(s);
            for (std::size_t i = edge(s); i < edge(s + 1); ++i) ++own[bin_of(i)];
        });
        std::uint32_t starts[most_bins + 1];
        starts[0] = 0;
        for (std::size_t b = 0; b < bins; ++b) {
            starts[b + 1] = starts[b];
            for (std::size_t s = 0; s < spans; ++s) starts[b + 1] += counts(s)[b];
        }
        // A bin in which a cut falls is a segment of its own; those between two such bins are one together.
        const std::size_t each = part_size(part.size(), leaf_, width());
        std::uint8_t segment_of[most_bins];
        Next next;
        std::size_t segments = 0;
        struct Open {
            std::size_t first, last;
        } open[most_parts];
        std::size_t open_count = 0;
        bool fresh = true;
        for (std::size_t b = 0; b < bins; ++b) {
            segment_of[b] = 0;  // of an empty bin it says nothing
            if (starts[b] == starts[b + 1]) continue;
            const bool has_cut = rounded_up(starts[b] + 1, each) < starts[b + 1];
            if (fresh || has_cut || starts[b] % each == 0) next[segments++] = part.first + starts[b];
            fresh = has_cut;
            segment_of[b] = static_cast<std::uint8_t>(segments - 1);
            if (has_cut) open[open_count++] = {starts[b], starts[b + 1]};
        }
        // Rows of a segment keep their order: those of a span come after those of the spans before.
        std::vector<Next> later(spans - 1, next);
        for (std::size_t s = 1; s < spans; ++s) {
            if (s > 1) later[s - 1] = later[s - 2];
            for (std::size_t b = 0; b < bins; ++b) later[s - 1][segment_of[b]] += counts(s - 1)[b];
        }
        Pool::run(spans, threads, [&](std::size_t s) {
            Next place = s == 0 ? next : later[s - 1];
            for (std::size_t i = edge(s); i < edge(s + 1); ++i) copy(from, i, to, place[segment_of[bin_of(i)]]++);
        });
        Pool::run(open_count, threads, [&](std::size_t o) { divide(part, open[o].first, open[o].last, each, column); });
        std::vector<Part> parts;
        for (std::size_t first = part.first; first < part.last; first += each)
            parts.push_back({first, std::min(part.last, first + each), !part.spare});
        return parts;
    }

    // Puts rows of a bin on their sides of the cuts in it; of equal values those that stood first come first.
    void divide(const Part& part, std::size_t first, std::size_t last, std::size_t each, std::size_t column) {
        const Rows rows = at(!part.spare);
        struct Key {
            T value;
            std::int32_t place;
            std::uint32_t index;
            bool operator<(const Key& other) const {
                return value < other.value || (value == other.value && place < other.place);
            }
        };
        std::vector<Key> keys(last - first);
        std::vector<T> values((last - first) * width());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::size_t from = part.first + first + i;
            const T value = rows.values[from * width() + column];
            // Sorting needs an order of all values: NaN comes first.
            keys[i] = {value == value ? value : -std::numeric_limits<T>::infinity(), rows.places[from],
                       static_cast<std::uint32_t>(i)};
            std::copy_n(rows.values + from * width(), width(), values.data() + i * width());
        }
        std::size_t done = first;
        for (std::size_t cut = rounded_up(first + 1, each); cut < last; cut += each) {
            std::nth_element(keys.begin() + static_cast<std::ptrdiff_t>(done - first),
                             keys.begin() + static_cast<std::ptrdiff_t>(cut - first), keys.end());
            done = cut;
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::size_t to = part.first + first + i;
            std::copy_n(values.data() + keys[i].index * width(), width(), rows.values + to * width());
            rows.places[to] = keys[i].place;
        }
    }

    std::size_t width_, leaf_;
    T* rows_;
    std::int32_t* places_;
    Aligned<T> spare_rows_;
    Aligned<std::int32_t> spare_places_;
    std::size_t count_;
};

// Orders rows in place and says where each stood; any `leaf` of them, from a multiple of it on, then lie in a small
// box, and so do twice as many, and four times.
template <class T>
void order_in_space(T* rows, std::int32_t* places, std::size_t count, std::size_t width, std::size_t leaf,
                    std::size_t threads) {
    switch (width) {
        case 1: return Ordering<T, 1>(rows, places, count, width, leaf).run(threads);
        case 2: return Ordering<T, 2>(rows, places, count, width, leaf).run(threads);
        case 3: return Ordering<T, 3>(rows, places, count, width, leaf).run(threads);
        case 4: return Ordering<T, 4>(rows, places, count, width, leaf).run(threads);
        case 5: return Ordering<T, 5>(rows, places, count, width, leaf).run(threads);
        default: return Ordering<T, 0>(rows, places, count, width, leaf).run(threads);
    }
}

}  // namespace kmle
