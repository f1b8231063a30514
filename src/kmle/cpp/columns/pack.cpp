// Rows of a table packed for the passes, and examined on the way: squares of them are transposed in registers.

#include "columns/pack.hpp"

#include "dense/tile.hpp"

#include <cmath>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

constexpr std::size_t width = lanes<double>;

// The first `count` values from a place on in double precision, the others zero.
template <class From>
inline Vec<double> some_in_double(const From* from, std::size_t count) {
    if (count >= width) return in_double(from);
    Vec<double> value{};
#if KMLE_VECTOR_BYTES == 64
    const __mmask8 chosen = static_cast<__mmask8>((1u << count) - 1);
    if constexpr (sizeof(From) == 8)
        value = (Vec<double>)_mm512_maskz_loadu_pd(chosen, from);
    else
        value = (Vec<double>)_mm512_cvtps_pd(_mm256_maskz_loadu_ps(chosen, from));
#else
    for (std::size_t lane = 0; lane < count; ++lane) value[lane] = static_cast<double>(from[lane]);
#endif
    return value;
}

// Lane r of value c becomes lane c of value r. Written out: what is kept in arrays would go through memory.
inline void transpose(Vec<double> (&x)[width]) {
#if KMLE_VECTOR_BYTES == 64
    const auto low = [](Vec<double> a, Vec<double> b) { return _mm512_unpacklo_pd((__m512d)a, (__m512d)b); };
    const auto high = [](Vec<double> a, Vec<double> b) { return _mm512_unpackhi_pd((__m512d)a, (__m512d)b); };
    const auto even = [](__m512d a, __m512d b) { return _mm512_shuffle_f64x2(a, b, 0x88); };
    const auto odd = [](__m512d a, __m512d b) { return _mm512_shuffle_f64x2(a, b, 0xdd); };
    const __m512d a0 = low(x[0], x[1]), a1 = high(x[0], x[1]), a2 = low(x[2], x[3]), a3 = high(x[2], x[3]);
    const __m512d b0 = low(x[4], x[5]), b1 = high(x[4], x[5]), b2 = low(x[6], x[7]), b3 = high(x[6], x[7]);
    const __m512d c0 = even(a0, a2), c1 = even(a1, a3), c2 = odd(a0, a2), c3 = odd(a1, a3);
    const __m512d d0 = even(b0, b2), d1 = even(b1, b3), d2 = odd(b0, b2), d3 = odd(b1, b3);
    x[0] = (Vec<double>)even(c0, d0);
    x[1] = (Vec<double>)even(c1, d1);
    x[2] = (Vec<double>)even(c2, d2);
    x[3] = (Vec<double>)even(c3, d3);
    x[4] = (Vec<double>)odd(c0, d0);
    x[5] = (Vec<double>)odd(c1, d1);
    x[6] = (Vec<double>)odd(c2, d2);
    x[7] = (Vec<double>)odd(c3, d3);
#elif KMLE_VECTOR_BYTES == 32
    const __m256d x0 = (__m256d)x[0], x1 = (__m256d)x[1], x2 = (__m256d)x[2], x3 = (__m256d)x[3];
    const __m256d a0 = _mm256_unpacklo_pd(x0, x1), a1 = _mm256_unpackhi_pd(x0, x1);
    const __m256d b0 = _mm256_unpacklo_pd(x2, x3), b1 = _mm256_unpackhi_pd(x2, x3);
    x[0] = (Vec<double>)_mm256_permute2f128_pd(a0, b0, 0x20);
    x[1] = (Vec<double>)_mm256_permute2f128_pd(a1, b1, 0x20);
    x[2] = (Vec<double>)_mm256_permute2f128_pd(a0, b0, 0x31);
    x[3] = (Vec<double>)_mm256_permute2f128_pd(a1, b1, 0x31);
#else
    const Vec<double> first = {x[0][0], x[1][0]}, second = {x[0][1], x[1][1]};
    x[0] = first;
    x[1] = second;
#endif
}

#if KMLE_VECTOR_BYTES == 64
// Four columns of eight rows, from the place `a` of each row on: value c becomes column c.
template <class From>
inline void take_four(const From* const* row, std::size_t a, Vec<double> (&x)[width]) {
    const auto pair = [&](std::size_t i) {
        const auto four = [&](const From* from) {
            if constexpr (sizeof(From) == 8)
                return _mm256_loadu_pd(from);
            else
                return _mm256_cvtps_pd(_mm_loadu_ps(from));
        };
        return _mm512_insertf64x4(_mm512_castpd256_pd512(four(row[i] + a)), four(row[i + 4] + a), 1);
    };
    const __m512d r0 = pair(0), r1 = pair(1), r2 = pair(2), r3 = pair(3);
    const __m512d even0 = _mm512_unpacklo_pd(r0, r1), odd0 = _mm512_unpackhi_pd(r0, r1);
    const __m512d even2 = _mm512_unpacklo_pd(r2, r3), odd2 = _mm512_unpackhi_pd(r2, r3);
    const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    x[0] = (Vec<double>)_mm512_permutex2var_pd(even0, low, even2);
    x[1] = (Vec<double>)_mm512_permutex2var_pd(odd0, low, odd2);
    x[2] = (Vec<double>)_mm512_permutex2var_pd(even0, high, even2);
    x[3] = (Vec<double>)_mm512_permutex2var_pd(odd0, high, odd2);
}

// The same for two columns.
template <class From>
inline void take_two(const From* const* row, std::size_t a, Vec<double> (&x)[width]) {
    const auto two = [&](std::size_t i) {
        if constexpr (sizeof(From) == 8)
            return _mm_loadu_pd(row[i] + a);
        else
            return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row[i] + a))));
    };
    const auto four = [&](std::size_t i) {
        const __m256d first = _mm256_insertf128_pd(_mm256_castpd128_pd256(two(i)), two(i + 1), 1);
        const __m256d second = _mm256_insertf128_pd(_mm256_castpd128_pd256(two(i + 2)), two(i + 3), 1);
        return _mm512_insertf64x4(_mm512_castpd256_pd512(first), second, 1);
    };
    const __m512d low = four(0), high = four(4);
    x[0] = (Vec<double>)_mm512_permutex2var_pd(low, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), high);
    x[1] = (Vec<double>)_mm512_permutex2var_pd(low, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), high);
}
#endif

// What rows have shown so far: extremes of the columns, lane by lane; lanes of `infinite` are NaN once a value is not
// finite, `broken` has bits once one is not whole.
struct Seen {
    explicit Seen(std::size_t columns) : low(columns * width), high(columns * width) {
        std::fill_n(low.get(), columns * width, std::numeric_limits<double>::infinity());
        std::fill_n(high.get(), columns * width, -std::numeric_limits<double>::infinity());
    }

    void add(std::size_t column, Vec<double> lowest, Vec<double> highest) {
        double *lows = low.get() + column * width, *highs = high.get() + column * width;
        store(lows, lower_of(lowest, load<double>(lows)));
        store(highs, higher_of(highest, load<double>(highs)));
    }

    void put_into(std::size_t columns, Summary& summary) const {
        constexpr double largest_whole = 2251799813685248.0;  // 2^51
        summary.finite = !any(infinite != infinite);
        summary.whole = !any(broken != 0);
        for (std::size_t a = 0; a < columns; ++a) {
            summary.lowest[a] = *std::min_element(low.get() + a * width, low.get() + (a + 1) * width);
            summary.highest[a] = *std::max_element(high.get() + a * width, high.get() + (a + 1) * width);
            summary.whole &=
                std::abs(summary.lowest[a]) < largest_whole && std::abs(summary.highest[a]) < largest_whole;
        }
    }

    Buffer<double> low, high;
    Vec<double> infinite{};
    IntVec<double> broken{};
};

// One block of rows: some columns at a time, and of these some rows at a time.
template <class From, class To>
class Block {
public:
    Block(const PackSource<From>& source, std::size_t block, const PackTask<To>& task, Seen& seen)
        : source_(source), first_(block * rows), count_(std::min(rows, source.rows - first_)),
          out_(task.values + block * source.columns * rows), largest_(task.largest + block * source.columns),
          seen_(seen) {
        if (source.places || count_ < rows) {
            for (std::size_t r = 0; r < rows; ++r) rows_[r] = source.at(first_ + std::min(r, count_ - 1), 0);
        } else {
            const From* next = source.at(first_, 0);
            for (std::size_t r = 0; r < rows; ++r, next += source.row_stride) rows_[r] = next;
        }
        if (source.places) fetch_next();
    }

    // Whether values are whole is not asked any more once one is not.
    void pack(bool summarized) {
        if (!summarized)
            pack_as<false, false>();
        else if (any(seen_.broken != 0))
            pack_as<true, false>();
        else
            pack_as<true, true>();
    }

private:
    static constexpr std::size_t rows = block_rows<To>;

    template <bool summarized, bool may_be_whole>
    void pack_as() {
        for (std::size_t a = 0; a < source_.columns;) {
            const std::size_t left = source_.columns - a;
            if (left == 1)
                a += pack_columns<1, summarized, may_be_whole>(a, left);
            else if (left < 4 || width < 4)
                a += pack_columns<2, summarized, may_be_whole>(a, 2);
            else if (left < 7 || width < 8)
                a += pack_columns<std::min<std::size_t>(4, width), summarized, may_be_whole>(a, 4);
            else
                a += pack_columns<width, summarized, may_be_whole>(a, std::min(left, width));
        }
    }

    // Columns from `a` on: `columns` of them, which are at most `most`. Those past the last are zero. Returns how many.
    template <std::size_t most, bool summarized, bool may_be_whole>
    std::size_t pack_columns(std::size_t a, std::size_t columns) {
        Vec<double> largest[width] = {}, low[most], high[most], shift[most];
        Vec<double> infinite = seen_.infinite;
        IntVec<double> broken = seen_.broken;
#pragma GCC unroll 8
        for (std::size_t c = 0; c < most; ++c) {
            shift[c] = broadcast(c < columns ? source_.shift[a + c] : 0.0);
            low[c] = broadcast(std::numeric_limits<double>::infinity());
            high[c] = -low[c];
        }
        To* out = out_ + a * rows;
        for (std::size_t r = 0; r < count_; r += width) {
            Vec<double> x[width] = {};
            take<most>(r, a, columns, x);
#pragma GCC unroll 8
            for (std::size_t c = 0; c < most; ++c) {
                const Vec<double> value = x[c] - shift[c];
                if (summarized) {
                    low[c] = lower_of(x[c], low[c]);
                    high[c] = higher_of(x[c], high[c]);
                    infinite += x[c] * broadcast(0.0);
                    if (may_be_whole) broken |= fraction_bits(x[c]);
                } else {
                    largest[c] = higher_of(absolute<double>(value), largest[c]);
                }
                if (c < columns) put(out + c * rows + r, value);
            }
        }
        if (summarized) {
            seen_.infinite = infinite;
            seen_.broken = broken;
#pragma GCC unroll 8
            for (std::size_t c = 0; c < most; ++c) {
                largest[c] = higher_of(absolute<double>(low[c] - shift[c]), absolute<double>(high[c] - shift[c]));
                if (c < columns) seen_.add(a + c, low[c], high[c]);
            }
        }
        write_largest(a, columns, largest);
        for (std::size_t c = 0; count_ < rows && c < columns; ++c)
            std::fill(out + c * rows + count_, out + (c + 1) * rows, To(0));
        return columns;
    }

    // The largest lane of the values of each column, as a number that To can hold.
    void write_largest(std::size_t a, std::size_t columns, Vec<double> (&largest)[width]) {
        transpose(largest);
#pragma GCC unroll 8
        for (std::size_t i = 1; i < width; ++i) largest[0] = higher_of(largest[i], largest[0]);
        typedef To Held __attribute__((vector_size(sizeof(To) * width)));
        const Vec<double> held = __builtin_convertvector(__builtin_convertvector(largest[0], Held), Vec<double>);
#pragma GCC unroll 8
        for (std::size_t c = 0; c < width; ++c)
            if (c < columns) largest_[a + c] = held[c];
    }

    // Some columns of rows from the place r of the block on; the last row stands for rows past it.
    template <std::size_t most>
    void take(std::size_t r, std::size_t a, std::size_t columns, Vec<double> (&x)[width]) {
        if (source_.row_stride == 1 && !source_.places && r + width <= count_) {
            for (std::size_t c = 0; c < columns; ++c) x[c] = in_double(source_.at(first_ + r, a + c));
            return;
        }
        const From* const* row = rows_ + r;
#if KMLE_VECTOR_BYTES == 64
        if (source_.column_stride == 1 && most == 4) return take_four(row, a, x);
        if (source_.column_stride == 1 && most == 2) return take_two(row, a, x);
#endif
        if (source_.column_stride == 1 && columns == width) {
#pragma GCC unroll 8
            for (std::size_t i = 0; i < width; ++i) x[i] = in_double(row[i] + a);
        } else if (source_.column_stride == 1) {
#pragma GCC unroll 8
            for (std::size_t i = 0; i < width; ++i) x[i] = some_in_double(row[i] + a, columns);
        } else {
            for (std::size_t i = 0; i < width; ++i) {
                From values[width] = {};
                for (std::size_t c = 0; c < columns; ++c)
                    values[c] = row[i][static_cast<std::int64_t>(a + c) * source_.column_stride];
                x[i] = in_double(values);
            }
        }
        transpose(x);
    }

    // Rows in any order are on their way while others are packed: those of the next block.
    void fetch_next() const {
        constexpr std::size_t line = 64 / sizeof(From), most = 4096 / sizeof(From);
        for (std::size_t i = first_ + rows; i < std::min(first_ + 2 * rows, source_.rows); ++i) {
            const std::size_t columns = std::min(source_.columns, most);
            for (std::size_t a = 0; a < columns; a += line) __builtin_prefetch(source_.at(i, a));
            __builtin_prefetch(source_.at(i, columns - 1));  // it may begin within a line
        }
    }

    const PackSource<From>& source_;
    const From* rows_[rows];  // where the rows of the block begin; past the last, that one
    std::size_t first_, count_;
    To* out_;
    double* largest_;
    Seen& seen_;
};

}  // namespace

template <class From, class To>
void pack(const PackSource<From>& source, PackTask<To>& task) {
    Seen seen(task.summary ? source.columns : 0);
    for (std::size_t b = task.first; b < task.last; ++b) {
        Block<From, To> block(source, b, task, seen);
        block.pack(task.summary != nullptr);
    }
    if (task.summary) seen.put_into(source.columns, *task.summary);
}

template void pack(const PackSource<double>&, PackTask<double>&);
template void pack(const PackSource<float>&, PackTask<double>&);
template void pack(const PackSource<double>&, PackTask<float>&);
template void pack(const PackSource<float>&, PackTask<float>&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
