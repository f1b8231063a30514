// Rows along a line: one column sorted, so that the cells of a univariate mixture are intervals of places.
//
// The difference of two components' scores, as a function of the place, has at most one extremum (a family says so
// before it is used here). On each side of it the sign changes at most once, and bisection finds where. The cost of a
// pass depends on the number of components and on log n, not on n.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "passes.hpp"
#include "pool.hpp"

namespace kmle {

class Line {
public:
    // The rows lie in the order of the line and outlive it.
    Line(const Packed<double>& packed, std::size_t threads) : packed_(packed), rows_(packed.rows), order_(packed.order) {
        // Each stretch is summed by itself, and the stretches in long double: rounding stays that of one stretch.
        const std::size_t stretches = rows_ / stretch, cells = order_ + 1;
        std::vector<double> sums(stretches * cells, 0.0);
        const std::size_t batch = 64, batches = rounded_up(stretches, batch) / batch;
        Pool::run(batches, threads, [&](std::size_t task) {
            for (std::size_t s = task * batch; s < std::min(stretches, (task + 1) * batch); ++s)
                add(s * stretch, (s + 1) * stretch, sums.data() + s * cells);
        });
        std::vector<long double> running(cells, 0.0L);
        prefix_.reserve((stretches + 1) * cells);
        for (std::size_t s = 0; s <= stretches; ++s)
            for (std::size_t f = 0; f < cells; ++f) {
                prefix_.push_back(static_cast<double>(running[f]));
                if (s < stretches) running[f] += sums[s * cells + f];
            }
    }

    std::size_t order() const { return order_; }

    // Places 0 = c_0 < c_1 < ... = n where the best component changes, and the owner of each interval between them.
    // False where too many rows are so nearly tied that rounding decides: they are to be labelled one by one.
    bool cells(const double* natural, const double* bias, std::size_t components, std::vector<std::int64_t>& cuts,
               std::vector<std::int32_t>& owners) const {
        const Scores scores{natural, bias, components};
        std::vector<std::int64_t> edges = {0, static_cast<std::int64_t>(rows_)};
        std::vector<double> slope(order_);
        for (std::size_t j = 0; j < components; ++j)
            for (std::size_t l = 0; l < j; ++l) {
                if (bias[j] == -infinity || bias[l] == -infinity) continue;
                for (std::size_t f = 0; f < order_; ++f) slope[f] = natural[j * order_ + f] - natural[l * order_ + f];
                crossings(slope.data(), bias[j] - bias[l], edges);
            }
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        cuts.clear();
        owners.clear();
        std::size_t one_by_one = 0;
        const auto begin = [&](std::size_t place, std::int32_t owner) {
            if (!owners.empty() && owners.back() == owner) return;
            cuts.push_back(static_cast<std::int64_t>(place));
            owners.push_back(owner);
        };
        for (std::size_t e = 0; e + 1 < edges.size(); ++e) {
            const std::size_t first = static_cast<std::size_t>(edges[e]), last = static_cast<std::size_t>(edges[e + 1]);
            const std::int32_t owner = label(first + (last - first) / 2, scores);
            const auto [clear_from, clear_to] = undoubted(first, last, static_cast<std::size_t>(owner), scores);
            one_by_one += last - first - (clear_to - clear_from);
            if (one_by_one > most_one_by_one) return false;
            for (std::size_t i = first; i < clear_from; ++i) begin(i, label(i, scores));
            if (clear_from < clear_to) begin(clear_from, owner);
            for (std::size_t i = clear_to; i < last; ++i) begin(i, label(i, scores));
        }
        cuts.push_back(static_cast<std::int64_t>(rows_));
        return true;
    }

    // Adds weight and weighted statistics of the places from `first` to before `last` to out[0 .. order].
    void interval(std::size_t first, std::size_t last, double* out) const {
        for (std::size_t f = 0; f <= order_; ++f)
            out[f] += prefix_[last / stretch * (order_ + 1) + f] - prefix_[first / stretch * (order_ + 1) + f];
        std::vector<double> head(order_ + 1, 0.0);
        add(first / stretch * stretch, first, head.data());
        for (std::size_t f = 0; f <= order_; ++f) out[f] -= head[f];
        add(last / stretch * stretch, last, out);
    }

private:
    static constexpr std::size_t stretch = 1024;
    static constexpr std::size_t most_one_by_one = 1 << 14;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Scores {
        const double *natural, *bias;
        std::size_t components;
    };

    void statistics(std::size_t i, double* t) const { row_statistics(packed_, i, t); }

    double score(std::size_t i, const double* slope, double offset) const {
        double t[8];
        statistics(i, t);
        for (std::size_t f = 0; f < order_; ++f) offset += slope[f] * t[f];
        return offset;
    }

    // Adds weight and weighted statistics of some places, whole blocks at once.
    void add(std::size_t first, std::size_t last, double* out) const {
        constexpr std::size_t block = block_rows<double>;
        std::size_t i = first;
        for (; i < last && i % block != 0; ++i) add_row(i, out);
        for (; i + block <= last; i += block) add_block(i, out);
        for (; i < last; ++i) add_row(i, out);
    }

    void add_row(std::size_t i, double* out) const {
        double t[8];
        const double weight = packed_.weight(i);
        statistics(i, t);
        out[0] += weight;
        for (std::size_t f = 0; f < order_; ++f) out[f + 1] += weight * t[f];
    }

    void add_block(std::size_t first, double* out) const {
        constexpr std::size_t block = block_rows<double>;
        double ones[block];
        const double* weights = packed_.weights ? packed_.weights + first : ones;
        if (!packed_.weights) std::fill_n(ones, block, 1.0);
        out[0] += product_sum(weights, nullptr, nullptr);
        const double* columns = packed_.block(first / block);
        double* next = out + 1;
        for (std::size_t a = 0; a < packed_.columns; ++a) *next++ += product_sum(weights, columns + a * block, nullptr);
        if (packed_.features == Features::identity) return;
        for (std::size_t a = 0; a < packed_.columns; ++a)
            for (std::size_t b = a; b < (packed_.features == Features::diagonal ? a + 1 : packed_.columns); ++b)
                *next++ += product_sum(weights, columns + a * block, columns + b * block);
    }

    // Sum over a block of products; in several sums side by side, which the compiler can vectorise.
    static double product_sum(const double* weights, const double* first, const double* second) {
        constexpr std::size_t block = block_rows<double>, apart = 8;
        double sums[apart] = {};
        for (std::size_t r = 0; r < block; r += apart)
            for (std::size_t l = 0; l < apart; ++l) {
                double value = weights[r + l];
                if (first) value *= first[r + l];
                if (second) value *= second[r + l];
                sums[l] += value;
            }
        double total = 0.0;
        for (const double sum : sums) total += sum;
        return total;
    }

    std::int32_t label(std::size_t i, const Scores& scores) const {
        double t[8];
        statistics(i, t);
        return exact_label(t, scores.natural, scores.bias, scores.components, order_);
    }

    // By how much the owner beats component j at place i, less what rounding may account for.
    double lead(std::size_t i, std::size_t owner, std::size_t j, const Scores& scores) const {
        double t[8];
        statistics(i, t);
        const double *own = scores.natural + owner * order_, *other = scores.natural + j * order_;
        double difference = scores.bias[owner] - scores.bias[j];
        double magnitude = std::abs(scores.bias[owner]) + std::abs(scores.bias[j]);
        for (std::size_t f = 0; f < order_; ++f) {
            difference += (own[f] - other[f]) * t[f];
            magnitude += (std::abs(own[f]) + std::abs(other[f])) * std::abs(t[f]);
        }
        return difference - 8 * std::numeric_limits<double>::epsilon() * static_cast<double>(order_ + 4) * magnitude;
    }

    // The part of an interval in which the owner beats every other beyond doubt. Leads are monotone there, so the
    // doubtful places are at the ends.
    std::pair<std::size_t, std::size_t> undoubted(std::size_t first, std::size_t last, std::size_t owner,
                                                  const Scores& scores) const {
        std::size_t from = first, to = last;
        for (std::size_t j = 0; j < scores.components && from < to; ++j) {
            if (j == owner || scores.bias[j] == -infinity || equal(owner, j, scores)) continue;
            const bool left = lead(from, owner, j, scores) > 0, right = lead(to - 1, owner, j, scores) > 0;
            if (left && right) continue;
            if (!left && !right) return {first, first};
            // Bisection for the first (or last) place without doubt.
            std::size_t low = from, high = to - 1;
            while (high - low > 1) {
                const std::size_t middle = low + (high - low) / 2;
                ((lead(middle, owner, j, scores) > 0) == left ? low : high) = middle;
            }
            (left ? to : from) = high;
        }
        return {from, to};
    }

    // The very same component twice: the lower index has it, and there is no doubt about that.
    bool equal(std::size_t a, std::size_t b, const Scores& scores) const {
        return scores.bias[a] == scores.bias[b] &&
               std::equal(scores.natural + a * order_, scores.natural + (a + 1) * order_, scores.natural + b * order_);
    }

    // Places where the difference of two scores changes sign, on either side of its extremum.
    void crossings(const double* slope, double offset, std::vector<std::int64_t>& edges) const {
        std::size_t low = 0;
        const std::size_t high = rows_ - 1;
        if (order_ > 1 && high > 0) {
            // The extremum is where the difference stops rising (or falling) as it did at first.
            std::size_t left = 0, right = high;
            const int at_first = trend(left, left, right, slope, offset);
            while (right - left > 1) {
                const std::size_t middle = left + (right - left) / 2;
                (trend(middle, left, right, slope, offset) == at_first ? left : right) = middle;
            }
            edges.push_back(static_cast<std::int64_t>(left));
            edges.push_back(static_cast<std::int64_t>(right));
            sign_change(low, left, slope, offset, edges);
            low = right;
        }
        sign_change(low, high, slope, offset, edges);
    }

    // +1 where the difference rises at place i, -1 where it falls, 0 where it is flat to rounding: neighbours further
    // and further away are asked until the change is more than rounding.
    int trend(std::size_t i, std::size_t first, std::size_t last, const double* slope, double offset) const {
        double t[8];
        statistics(i, t);
        double here = offset, magnitude = std::abs(offset);
        for (std::size_t f = 0; f < order_; ++f) {
            here += slope[f] * t[f];
            magnitude += std::abs(slope[f] * t[f]);
        }
        const double rounding = 16 * std::numeric_limits<double>::epsilon() * magnitude;
        for (std::size_t step = 1; step <= std::max(last - i, i - first); step *= 2) {
            const double ahead = step <= last - i ? score(i + step, slope, offset) - here : 0.0;
            if (std::abs(ahead) > rounding) return ahead > 0 ? 1 : -1;
            const double behind = step <= i - first ? here - score(i - step, slope, offset) : 0.0;
            if (std::abs(behind) > rounding) return behind > 0 ? 1 : -1;
        }
        return 0;
    }

    void sign_change(std::size_t low, std::size_t high, const double* slope, double offset,
                     std::vector<std::int64_t>& edges) const {
        if (low >= high) return;
        const bool first = score(low, slope, offset) > 0;
        if (first == (score(high, slope, offset) > 0)) return;
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            ((score(middle, slope, offset) > 0) == first ? low : high) = middle;
        }
        edges.push_back(static_cast<std::int64_t>(high));
    }

    Packed<double> packed_;
    std::vector<double> prefix_;
    std::size_t rows_, order_;
};

}  // namespace kmle
