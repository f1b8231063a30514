// Rows of a table scored where they lie: each is examined once, as it comes from memory.
//
// Rows of many columns are their own statistics in many families. Packing such rows takes longer than scoring them with
// a few components, so here columns lie along the lanes and products are added up across them in the end. Labels are
// found in single precision; rows that are uncertain after that are scored again in double precision.

#include "columns/table.hpp"

#include "dense/tile.hpp"

#include <cmath>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Number of components that share what is loaded of the rows.
constexpr std::size_t abreast = vector_bytes == 64 ? 4 : 2;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

inline double sum_of(Vec<double> values) {
#if KMLE_VECTOR_BYTES == 64
    return _mm512_reduce_add_pd((__m512d)values);
#else
    return sum_of_lanes(values);
#endif
}

// Scores of four rows with four components, [row][component], and whole numbers beside them.
typedef float Square __attribute__((vector_size(64)));
typedef std::int32_t Labels __attribute__((vector_size(64)));

// The lanes of each of sixteen vectors, [component][row], added up.
inline Square added_up(const Vec<float> (&x)[4][table_rows]) {
#if KMLE_VECTOR_BYTES == 64
    const auto halves = [](Vec<float> a, Vec<float> b) {
        return (__m512d)(_mm512_unpacklo_ps((__m512)a, (__m512)b) + _mm512_unpackhi_ps((__m512)a, (__m512)b));
    };
    const auto quarters = [](__m512d a, __m512d b) {
        return (__m512)_mm512_unpacklo_pd(a, b) + (__m512)_mm512_unpackhi_pd(a, b);
    };
    const auto across = [](__m512 a, __m512 b) {
        return _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
    };
    const __m512 first = quarters(halves(x[0][0], x[1][0]), halves(x[2][0], x[3][0]));
    const __m512 second = quarters(halves(x[0][1], x[1][1]), halves(x[2][1], x[3][1]));
    const __m512 third = quarters(halves(x[0][2], x[1][2]), halves(x[2][2], x[3][2]));
    const __m512 fourth = quarters(halves(x[0][3], x[1][3]), halves(x[2][3], x[3][3]));
    return (Square)across(across(first, second), across(third, fourth));
#else
    Square totals{};
    for (std::size_t r = 0; r < table_rows; ++r)
        for (std::size_t g = 0; g < 4; ++g)
            for (std::size_t lane = 0; lane < lanes<float>; ++lane) totals[4 * r + g] += x[g][r][lane];
    return totals;
#endif
}

// What rows have shown so far: extremes of the columns and of the rows' squared lengths, and whether values are whole
// and scores are numbers.
struct Seen {
    explicit Seen(std::size_t stride) : low(stride), high(stride) {
        std::fill_n(low.get(), stride, std::numeric_limits<double>::infinity());
        std::fill_n(high.get(), stride, minus_infinity);
    }

    void see_length(double square) {
        shortest = std::min(shortest, square);
        longest = std::max(longest, square);
    }

    Buffer<double> low, high;
    double shortest = std::numeric_limits<double>::infinity(), longest = minus_infinity;
    IntVec<double> broken{};  // has bits where a value is not whole
    bool numbers = true;
};

// The best of a row's scores: whose it is, and by how much.
struct Found {
    std::int32_t label;
    double margin;
};

// A few rows in the precision S, each column less its shift and padded by zeros, and their scores.
template <class T, class S>
class Few {
public:
    Few(const Table<T>& table, const S* natural)
        : table_(table), natural_(natural), stride_(table.stride()), values_(table_rows * stride_),
          scores_(table_rows * table.padded()) {}

    // Takes up to `table_rows` rows from `first` on; what is left of the few keeps the last ones.
    void take(std::size_t first, std::size_t count, Seen& seen) {
        if (count == table_rows)
            take_rows<table_rows>(first, 0, seen);
        else
            for (std::size_t r = 0; r < count; ++r) take_rows<1>(first + r, r, seen);
    }

    void take_row(std::size_t row, std::size_t place, Seen& seen) { take_rows<1>(row, place, seen); }

    // Scores of the rows taken with all components.
    void score() {
        const std::size_t components = table_.model.components;
        for (std::size_t j = 0; j < components; j += abreast) {
            Vec<S> sums[abreast][table_rows] = {};
            const S* natural = natural_ + j * stride_;
            for (std::size_t a = 0; a < stride_; a += lanes<S>) {
                Vec<S> x[table_rows];
                for (std::size_t r = 0; r < table_rows; ++r) x[r] = load(values_.get() + r * stride_ + a);
#pragma GCC unroll 4
                for (std::size_t g = 0; g < abreast; ++g) {
                    const Vec<S> coefficient = load(natural + g * stride_ + a);
#pragma GCC unroll 4
                    for (std::size_t r = 0; r < table_rows; ++r) sums[g][r] += coefficient * x[r];
                }
            }
            for (std::size_t g = 0; g < abreast; ++g)
                for (std::size_t r = 0; r < table_rows; ++r) {
                    const double bias = j + g < components ? table_.model.bias[j + g] : minus_infinity;
                    scores_of(r)[j + g] = sum_of(sums[g][r]) + static_cast<S>(bias);
                }
        }
        for (std::size_t r = 0; r < table_rows; ++r)
            std::fill(scores_of(r) + components, scores_of(r) + table_.padded(), static_cast<S>(minus_infinity));
    }

    // The best components of the rows taken, in single precision; returns whether all scores are numbers.
    bool find(Found (&found)[table_rows]) const {
        Square top{}, second{};
        Labels winner{}, broken{};
        for (std::size_t i = 0; i < 4 * table_rows; ++i) top[i] = second[i] = static_cast<float>(minus_infinity);
        for (std::size_t j = 0; j < table_.model.components; j += 4) {
            const Square scores = square(j);
            const Labels better = scores > top;  // strictly: a tie stays with the lowest
            const Square loser = better ? top : scores;
            broken |= scores != scores;
            second = loser > second ? loser : second;
            top = better ? scores : top;
            winner = better ? Labels{} + static_cast<std::int32_t>(j) : winner;
        }
        bool all = true;
        for (std::size_t r = 0; r < table_rows; ++r) {
            float best = static_cast<float>(minus_infinity), next = best;
            std::int32_t label = 0;
            for (std::int32_t g = 0; g < 4; ++g) {
                const std::size_t i = 4 * r + static_cast<std::size_t>(g);
                const bool better = top[i] > best || (top[i] == best && winner[i] + g < label);
                next = std::max({next, second[i], better ? best : top[i]});
                best = better ? top[i] : best;
                label = better ? winner[i] + g : label;
                all &= broken[i] == 0;
            }
            found[r] = {label, static_cast<double>(best - next)};
        }
        return all;
    }

    // The best component of a row, the lowest index on a tie.
    Found best(std::size_t r) {
        const S* scores = scores_of(r);
        S top = static_cast<S>(minus_infinity), second = top;
        std::int32_t label = 0;
        for (std::size_t j = 0; j < table_.model.components; ++j) {
            const bool better = scores[j] > top;
            second = better ? top : scores[j] > second ? scores[j] : second;
            top = better ? scores[j] : top;
            label = better ? static_cast<std::int32_t>(j) : label;
        }
        return {label, static_cast<double>(top - second)};
    }

    // The label of a row whose best scores nearly tie.
    std::int32_t exact(std::size_t r) {
        const Model<double>& model = table_.model;
        return exact_label(values_.get() + r * stride_, model.natural, model.bias, model.components,
                           model.n_statistics);
    }

    // Scores are numbers unless a value is NaN, infinite or too large.
    bool is_number(std::size_t r) { return scores_of(r)[0] == scores_of(r)[0]; }

    // What is wanted of rows from `first` on.
    void report(std::size_t first, std::size_t count, const RowScores& out) {
        const std::size_t k = table_.model.components;
        double tops[table_rows], totals[table_rows];
        for (std::size_t r = 0; r < count; ++r) tops[r] = *std::max_element(scores_of(r), scores_of(r) + k);
        for (std::size_t r = 0; r < count; ++r) {
            if (out.scores) std::copy_n(scores_of(r), k, out.scores + (first + r) * k);
            if (out.tops) out.tops[first + r] = tops[r];
        }
        if (!out.log_sums && !out.shares) return;
        exponentials(count, tops, totals);
        for (std::size_t r = 0; r < count; ++r) {
            if (out.log_sums) out.log_sums[first + r] = tops[r] + std::log(totals[r]);
            if (!out.shares) continue;
            for (std::size_t j = 0; j < k; ++j) out.shares[(first + r) * k + j] = scores_of(r)[j] / totals[r];
        }
    }

private:
    // Scores of the rows taken with four components, those past the last minus infinity.
    Square square(std::size_t j) const {
        Vec<float> sums[4][table_rows] = {};
        for (std::size_t h = 0; h < 4; h += abreast) {
            const float* natural = natural_ + (j + h) * stride_;
            for (std::size_t a = 0; a < stride_; a += lanes<float>) {
                Vec<float> x[table_rows];
#pragma GCC unroll 4
                for (std::size_t r = 0; r < table_rows; ++r) x[r] = load(values_.get() + r * stride_ + a);
#pragma GCC unroll 4
                for (std::size_t g = 0; g < abreast; ++g) {
                    const Vec<float> coefficient = load(natural + g * stride_ + a);
#pragma GCC unroll 4
                    for (std::size_t r = 0; r < table_rows; ++r) sums[h + g][r] += coefficient * x[r];
                }
            }
        }
        Square bias;
#pragma GCC unroll 4
        for (std::size_t r = 0; r < table_rows; ++r)
            std::memcpy(reinterpret_cast<char*>(&bias) + 16 * r, table_.single_bias + j, 16);
        return added_up(sums) + bias;
    }

    S* scores_of(std::size_t r) { return scores_.get() + r * table_.padded(); }

    // Rows from `first` on as those from `place` on.
    template <std::size_t count>
    void take_rows(std::size_t first, std::size_t place, Seen& seen) {
        constexpr std::size_t width = lanes<double>;
        const std::size_t columns = table_.columns, whole = columns / width * width, stride = stride_;
        constexpr std::size_t nearest = 4096 / sizeof(T);  // which the nearest cache has room for beside components
        const T* rows = table_.values + first * columns;
        const double* shifts = table_.shift;
        double *lows = seen.low.get(), *highs = seen.high.get();
        S* to = values_.get() + place * stride;
        IntVec<double> broken = seen.broken;
        Vec<double> squares[count] = {};
        for (std::size_t a = 0; a < whole; a += width) {
            const Vec<double> shift = load(shifts + a);
            Vec<double> low = load(lows + a), high = load(highs + a);
#pragma GCC unroll 4
            for (std::size_t r = 0; r < count; ++r) {
                const T* place_of = rows + r * columns + a;
                if (count * columns > nearest)  // rows that come next
                    __builtin_prefetch(place_of + count * columns, 0, 2);
                else
                    __builtin_prefetch(place_of + count * columns);
                const Vec<double> x = in_double(place_of);
                low = lower_of(x, low);
                high = higher_of(x, high);
                broken |= fraction_bits(x);
                squares[r] += x * x;
                put(to + r * stride + a, x - shift);
            }
            store(lows + a, low);
            store(highs + a, high);
        }
        for (std::size_t r = 0; r < count; ++r) {
            double square = sum_of(squares[r]);
            for (std::size_t a = whole; a < columns; ++a) {
                const double x = static_cast<double>(rows[r * columns + a]);
                lows[a] = std::min(lows[a], x);
                highs[a] = std::max(highs[a], x);
                if (std::floor(x) != x) broken[0] = -1;
                square += x * x;
                to[r * stride + a] = static_cast<S>(x - shifts[a]);
            }
            seen.see_length(square);
        }
        seen.broken = broken;
    }

    // Scores become their exponentials, seen from the highest.
    void exponentials(std::size_t count, const double* tops, double* totals) {
        Vec<double> sums[table_rows] = {};
        for (std::size_t j = 0; j < table_.padded(); j += lanes<double>) {
            Vec<double> e[table_rows] = {};
            for (std::size_t r = 0; r < count; ++r) e[r] = load(scores_of(r) + j) - broadcast(tops[r]);
            exp_negative(e);
            for (std::size_t r = 0; r < count; ++r) {
                sums[r] += e[r];
                store(scores_of(r) + j, e[r]);
            }
        }
        for (std::size_t r = 0; r < count; ++r) totals[r] = sum_of_lanes(sums[r]);
    }

    const Table<T>& table_;
    const S* natural_;
    std::size_t stride_;
    Buffer<S> values_, scores_;
};

// Error bounds on differences of scores of rows with these extremes, as for packed rows (see near_tie).
struct ErrorBounds {
    template <class T>
    ErrorBounds(const Table<T>& table, const Seen& seen) {
        double magnitude = table.model.largest_bias, column = 0.0, top = 0.0;
        for (std::size_t a = 0; a < table.columns; ++a) {
            const double low = std::abs(seen.low.get()[a] - table.shift[a]),
                         high = std::abs(seen.high.get()[a] - table.shift[a]);
            magnitude += std::max(low, high) * table.sizes[a];
            column = std::max({column, low, high});
            top = std::max(top, table.sizes[a]);
        }
        const double roundings = static_cast<double>(table.model.n_statistics + 5) * magnitude;
        in_double = 2.5 * roundings * std::numeric_limits<double>::epsilon();
        in_single = column > largest_column || top > largest_coefficient
                        ? std::numeric_limits<double>::infinity()
                        : 1.25 * roundings * static_cast<double>(std::numeric_limits<float>::epsilon()) +
                              2 * lost_in_single(table.model.n_statistics, column, top);
    }

    double in_single, in_double;
};

// Labels of rows in single precision, and of those that are uncertain then in double precision.
template <class T>
void label_all(const Table<T>& table, const TableTask& task, Seen& seen) {
    Few<T, float> few(table, table.single);
    Buffer<float> margins(task.last - task.first);
    for (std::size_t first = task.first; first < task.last; first += table_rows) {
        const std::size_t count = std::min(table_rows, task.last - first);
        Found found[table_rows];
        few.take(first, count, seen);
        seen.numbers &= few.find(found);
        for (std::size_t r = 0; r < count; ++r) {
            task.labels[first + r] = found[r].label;
            margins.get()[first + r - task.first] = static_cast<float>(found[r].margin);
        }
    }
    const ErrorBounds error_bounds(table, seen);
    Few<T, double> again(table, table.natural);
    std::size_t places[table_rows], waiting = 0;
    const auto flush = [&] {
        again.score();
        for (std::size_t r = 0; r < waiting; ++r) {
            const Found found = again.best(r);
            task.labels[places[r]] = found.margin > error_bounds.in_double ? found.label : again.exact(r);
        }
        waiting = 0;
    };
    for (std::size_t i = task.first; i < task.last; ++i) {
        if (margins.get()[i - task.first] > error_bounds.in_single) continue;  // NaN is uncertain too
        places[waiting] = i;
        again.take_row(i, waiting++, seen);
        if (waiting == table_rows) flush();
    }
    flush();
}

template <class T>
void report_all(const Table<T>& table, const TableTask& task, Seen& seen) {
    Few<T, double> few(table, table.natural);
    for (std::size_t first = task.first; first < task.last; first += table_rows) {
        const std::size_t count = std::min(table_rows, task.last - first);
        few.take(first, count, seen);
        few.score();
        for (std::size_t r = 0; r < count; ++r) seen.numbers &= few.is_number(r);
        few.report(first, count, *task.out);
    }
}

}  // namespace

template <class T>
void score_table(const Table<T>& table, TableTask& task) {
    constexpr double largest_whole = 2251799813685248.0;  // 2^51
    Seen seen(table.stride());
    if (task.labels) label_all(table, task, seen);
    if (task.out) report_all(table, task, seen);
    task.finite = seen.numbers;
    task.shortest = seen.shortest;
    task.longest = seen.longest;
    task.whole = !any(seen.broken != IntVec<double>{});
    for (std::size_t a = 0; a < table.columns; ++a) {
        const double low = seen.low.get()[a], high = seen.high.get()[a];
        task.lowest[a] = low;
        task.highest[a] = high;
        task.finite &= std::isfinite(low) && std::isfinite(high);
        task.whole &= std::abs(low) < largest_whole && std::abs(high) < largest_whole;
    }
}

template void score_table(const Table<double>&, TableTask&);
template void score_table(const Table<float>&, TableTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
