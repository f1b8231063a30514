// What all passes share: statistics of a block, their scores, and bounds on the rounding of those.

#pragma once

#include <algorithm>
#include <limits>

#include "core/list.hpp"
#include "core/passes.hpp"
#include "core/simd.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Registers of rows scored together: with a group of four components they fill the registers of the machine.
constexpr std::size_t strip = vector_bytes == 64 ? 4 : 2;

// Number of statistics of a block that stay in the nearest cache while all components are scored with them.
constexpr std::size_t statistics_at_once = 96;

// Memory that is needed soon, fetched a little at each step of other work: fetching all at once would stall it.
class Fetching {
public:
    Fetching() = default;
    template <class T>
    Fetching(const T* values, std::size_t count, std::size_t steps)
        : next_(reinterpret_cast<const char*>(values)), end_(next_ + count * sizeof(T)),
          each_(rounded_up(count * sizeof(T) / std::max<std::size_t>(steps, 1), line) + line) {}
    void step() { fetch(std::min(next_ + each_, end_)); }
    void finish() { fetch(end_); }

private:
    void fetch(const char* until) {
        for (; next_ < until; next_ += line) __builtin_prefetch(next_);
    }

    static constexpr std::size_t line = 64;
    const char *next_ = nullptr, *end_ = nullptr;
    std::size_t each_ = 0;
};

// Statistics of `rows` neighbouring rows, [statistic][row], from columns laid out likewise.
template <class T>
void build_statistics(Features features, std::size_t columns, std::size_t rows, T* statistics) {
    if (features == Features::identity) return;
    T* out = statistics + columns * rows;
    for (std::size_t a = 0; a < columns; ++a) {
        const std::size_t last = features == Features::diagonal ? a + 1 : columns;
        for (std::size_t b = a; b < last; ++b, out += rows)
            for (std::size_t r = 0; r < rows; r += lanes<T>)
                store(out + r, load(statistics + a * rows + r) * load(statistics + b * rows + r));
    }
}

// Statistics of the rows of a block in double precision, whatever T is: where they are packed, or else in `room`.
template <class T>
const double* statistics_of(const Packed<T>& packed, std::size_t block, Buffer<double>& room) {
    const T* values = packed.block(block);
    if constexpr (sizeof(T) == 8)
        if (packed.features == Features::identity) return values;
    std::copy_n(values, packed.columns * block_rows<T>, room.get());
    build_statistics(packed.features, packed.columns, block_rows<T>, room.get());
    return room.get();
}

// Scores of one strip of rows with (the first of) a group of components, as far as the statistics given: the innermost
// loop of all.
template <class T, std::size_t members>
inline void add_scores(const T* statistics, std::size_t rows, std::size_t count, const T* natural,
                       Vec<T> (&scores)[members][strip]) {
    for (std::size_t f = 0; f < count; ++f, statistics += rows, natural += group) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < members; ++j) {
            const Vec<T> coefficient = broadcast(natural[j]);
#pragma GCC unroll 4
            for (std::size_t v = 0; v < strip; ++v) scores[j][v] += coefficient * load(statistics + v * lanes<T>);
        }
    }
}

template <class T, std::size_t members>
inline void score(const T* statistics, std::size_t rows, std::size_t n_statistics, const T* natural, const T* bias,
                  Vec<T> (&scores)[members][strip]) {
    for (std::size_t j = 0; j < members; ++j)
        for (std::size_t v = 0; v < strip; ++v) scores[j][v] = broadcast(bias[j]);
    add_scores(statistics, rows, n_statistics, natural, scores);
}

// Scores of one strip of rows with every component, [component][row of the strip]: all components see some statistics
// before the next ones are fetched.
template <class T>
void score_all(const T* statistics, std::size_t rows, const Model<T>& model, T* out) {
    constexpr std::size_t width = strip * lanes<T>;
    for (std::size_t f = 0; f < model.n_statistics; f += statistics_at_once) {
        const std::size_t count = std::min(statistics_at_once, model.n_statistics - f);
        for (std::size_t j = 0; j < model.padded(); j += group) {
            Vec<T> scores[group][strip];
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v)
                    scores[g][v] =
                        f == 0 ? broadcast(model.grouped_bias[j + g]) : load(out + (j + g) * width + v * lanes<T>);
            if (j == 0)  // what comes next is on its way while the other components are scored
                for (std::size_t a = 0; a < count * rows; a += 64 / sizeof(T))
                    __builtin_prefetch(statistics + (f + statistics_at_once) * rows + a);
            add_scores(statistics + f * rows, rows, count, model.grouped + (j * model.n_statistics + f * group),
                       scores);
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) store(out + (j + g) * width + v * lanes<T>, scores[g][v]);
        }
    }
}

// The sum of products, some apart from others, so that none waits for the one before.
inline double dot(const double* a, const double* b, std::size_t count) {
    constexpr std::size_t apart = 8;
    double sums[apart] = {};
    std::size_t i = 0;
    for (; i + apart <= count; i += apart)
        for (std::size_t l = 0; l < apart; ++l) sums[l] += a[i + l] * b[i + l];
    for (; i < count; ++i) sums[0] += a[i] * b[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// The largest of numbers that are not negative, likewise.
inline double largest_of(const double* a, std::size_t count) {
    constexpr std::size_t apart = 8;
    double tops[apart] = {};
    std::size_t i = 0;
    for (; i + apart <= count; i += apart)
        for (std::size_t l = 0; l < apart; ++l) tops[l] = a[i + l] > tops[l] ? a[i + l] : tops[l];
    for (; i < count; ++i) tops[0] = a[i] > tops[0] ? a[i] : tops[0];
    return *std::max_element(tops, tops + apart);
}

// A bound on the rounding error of the difference of any two scores of rows whose columns are at most `largest`, in the
// precision of T. Of each score, every term is rounded at most four times before it is added (coefficient, column,
// product, weight) and once with every addition after it, by half an epsilon each. In double precision the label such
// rows are compared with, that of exact_label, is rounded as much again.
template <class T>
double near_tie(const Packed<T>& packed, const Model<T>& model, const double* largest) {
    const std::size_t d = packed.columns;
    double magnitude = model.largest_bias + dot(largest, model.largest, d);
    if (packed.features == Features::diagonal)
        for (std::size_t a = 0; a < d; ++a) magnitude += largest[a] * largest[a] * model.largest[d + a];
    if (packed.features == Features::quadratic) {
        const double* coefficient = model.largest + d;
        for (std::size_t a = 0; a < d; ++a)
            for (std::size_t b = a; b < d; ++b) magnitude += largest[a] * largest[b] * *coefficient++;
    }
    const double roundings = (sizeof(T) == 4 ? 1.25 : 2.5) * static_cast<double>(model.n_statistics + 5);
    return roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) * magnitude;
}

// A bound in the precision of T, rounded up.
template <class T>
T in_precision(double bound) {
    return bound < 1e38 || sizeof(T) == 8 ? static_cast<T>(bound * 1.000001) : std::numeric_limits<T>::infinity();
}

template <class T>
double near_tie(const Packed<T>& packed, const Model<T>& model, std::size_t block) {
    return near_tie(packed, model, packed.largest + block * packed.columns);
}

// Columns and coefficients up to here have products that single precision can hold.
constexpr double largest_column = 1e18, largest_coefficient = 1e36;

// A bound on what a score loses where single precision ends, below its smallest number.
inline double lost_in_single(std::size_t n_statistics, double column, double top) {
    constexpr double smallest = 1.5e-45;
    return 2 * smallest * static_cast<double>(n_statistics) * (1 + column) * (1 + column) * (1 + top);
}

// A bound on the rounding of the difference of two scores in single precision of rows that may be in double, with
// coefficients up to `top`; infinite where scores may overflow.
inline double single_error_bound(const Packed<float>& packed, const Model<float>& model, const double* largest,
                                 double top) {
    const double column = largest_of(largest, packed.columns);
    if (column > largest_column || top > largest_coefficient) return std::numeric_limits<double>::infinity();
    return near_tie(packed, model, largest) + 2 * lost_in_single(packed.n_statistics, column, top);
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
