// One pass over every value of a table: whether it is finite and whole, and the extremes and totals of each column; and
// between which cuts values lie.

#include "dense/tile.hpp"

#include <cmath>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

constexpr std::size_t width = lanes<double>;

// Extremes and totals of the values at one place of a register; whether all are finite and whole is gathered too.
struct Tally {
    Vec<double> low = broadcast(std::numeric_limits<double>::infinity());
    Vec<double> high = broadcast(-std::numeric_limits<double>::infinity());
    Vec<double> total{};

    void add(Vec<double> x, IntVec<double>& infinite, IntVec<double>& broken) {
        const Vec<double> shifter = broadcast(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to a whole number
        low = x < low ? x : low;
        high = x > high ? x : high;
        total += x;
        infinite |= (x - x) != Vec<double>{};
        broken |= ((x + shifter) - shifter) != x;
    }
};

}  // namespace

// As many registers as there are columns hold whole rows: after them the columns fall on the same lanes again.
template <class T>
void summarize(const T* values, std::size_t rows, std::size_t columns, Summary& out) {
    const std::size_t at_once = columns * width, size = rows * columns, whole_turns = size / at_once;
    Buffer<Tally> tallies(columns);
    IntVec<double> infinite{}, broken{};
    // Several turns at a time: tallies of many columns do not stay in registers.
    constexpr std::size_t turns_at_once = 4;
    for (std::size_t turn = 0; turn < whole_turns; turn += turns_at_once)
        for (std::size_t a = 0; a < columns; ++a) {
            Tally tally = tallies.get()[a];
            for (std::size_t next = turn; next < std::min(turn + turns_at_once, whole_turns); ++next)
                tally.add(in_double(values + next * at_once + a * width), infinite, broken);
            tallies.get()[a] = tally;
        }
    for (std::size_t a = 0; a < columns; ++a) {
        out.lowest[a] = std::numeric_limits<double>::infinity();
        out.highest[a] = -out.lowest[a];
        out.totals[a] = 0.0;
    }
    for (std::size_t place = 0; place < at_once; ++place) {
        const Tally& tally = tallies.get()[place / width];
        const std::size_t a = place % columns, lane = place % width;
        out.lowest[a] = std::min(out.lowest[a], tally.low[lane]);
        out.highest[a] = std::max(out.highest[a], tally.high[lane]);
        out.totals[a] += tally.total[lane];
    }
    out.finite = !any(infinite);
    out.whole = !any(broken);
    for (std::size_t i = whole_turns * at_once; i < size; ++i) {
        const double x = values[i];
        const std::size_t a = i % columns;
        out.lowest[a] = std::min(out.lowest[a], x);
        out.highest[a] = std::max(out.highest[a], x);
        out.totals[a] += x;
        out.finite &= std::isfinite(x);
        out.whole &= std::abs(x) < 2251799813685248.0 && std::floor(x) == x;
    }
    for (std::size_t a = 0; a < columns; ++a)
        out.whole &= std::abs(out.lowest[a]) < 2251799813685248.0 && std::abs(out.highest[a]) < 2251799813685248.0;
}

// Counting is faster than searching while there is little to count, and lanes count side by side.
void locate(const double* values, std::size_t count, const double* cuts, std::size_t cut_count, std::int32_t* places) {
    constexpr std::size_t most_counted = 64;
    std::size_t i = 0;
    for (; cut_count <= most_counted && i + width <= count; i += width) {
        const Vec<double> x = in_double(values + i);
        IntVec<double> place{};
        for (std::size_t c = 0; c < cut_count; ++c) place -= x >= broadcast(cuts[c]);
        for (std::size_t lane = 0; lane < width; ++lane) places[i + lane] = static_cast<std::int32_t>(place[lane]);
    }
    for (; i < count; ++i)
        places[i] = static_cast<std::int32_t>(std::upper_bound(cuts, cuts + cut_count, values[i]) - cuts);
}

template void summarize(const double*, std::size_t, std::size_t, Summary&);
template void summarize(const float*, std::size_t, std::size_t, Summary&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
