// Rows along a line: buckets of one column in order (see buckets.hpp), so that the cells of a univariate mixture are
// intervals of places.
//
// The difference of two components' scores, as a function of the place, has at most one extremum (a family says so
// before it is used here). On each side of it the sign changes at most once, and bisection finds where: among the least
// values of buckets first, then within the few buckets that this leaves, which are put in order when they are first
// asked for. The cost of a pass depends on the number of components and on log n, not on n.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/packing.hpp"

namespace kmle {

class Line {
public:
    static constexpr std::size_t most_statistics = 8;

    // The rows, and the values they are ordered by, lie in buckets and outlive it. `starts` are those of the buckets,
    // and the end.
    Line(Packing<double>& rows, double* values, std::vector<std::size_t> starts)
        : packing_(rows), values_(values), packed_(rows.view()), starts_(std::move(starts)),
          sorted_(starts_.size() - 1, 0), rows_(packed_.rows), n_statistics_(packed_.n_statistics) {
        // Each bucket is summed by itself, and the buckets in long double: rounding stays that of one bucket.
        const std::size_t buckets = sorted_.size(), cells = n_statistics_ + 1;
        std::vector<double> sums(buckets * cells, 0.0);
        const std::size_t batch = 64, batches = rounded_up(buckets, batch) / batch;
        Pool::run(batches, rows.threads(), [&](std::size_t task) {
            for (std::size_t r = task * batch; r < std::min(buckets, (task + 1) * batch); ++r)
                add(starts_[r], starts_[r + 1], sums.data() + r * cells);
        });
        std::vector<long double> running(cells, 0.0L);
        prefix_.reserve((buckets + 1) * cells);
        for (std::size_t r = 0; r <= buckets; ++r)
            for (std::size_t f = 0; f < cells; ++f) {
                prefix_.push_back(static_cast<double>(running[f]));
                if (r < buckets) running[f] += sums[r * cells + f];
            }
        for (std::size_t place = 0, bucket = 0; place <= rows_; place += table_step) {
            while (bucket < buckets && starts_[bucket + 1] <= place) ++bucket;
            first_bucket_.push_back(static_cast<std::uint32_t>(bucket));
        }
        sort_buckets({0, buckets - 1});  // both ends are examined in every pass
    }

    std::size_t n_statistics() const { return n_statistics_; }

    // Places 0 = c_0 < c_1 < ... = n where the best component changes, and the owner of each interval between them.
    // False where too many rows are so nearly tied that rounding decides: they are to be labelled one by one.
    bool cells(const double* natural, const double* bias, std::size_t components, std::vector<std::int64_t>& cuts,
               std::vector<std::int32_t>& owners) {
        const Scores scores{natural, bias, components};
        std::vector<std::int64_t> edges;
        // Buckets whose order is asked for are put in order together, and the search is made again.
        for (std::vector<std::size_t> wanted;; wanted.clear()) {
            edges = {0, static_cast<std::int64_t>(rows_)};
            all_crossings(scores, edges, wanted);
            if (wanted.empty()) break;
            sort_buckets(wanted);
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
            const std::int32_t owner = label(last - first > 1 ? between(first, last) : first, scores);
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

    // Adds weight and weighted statistics of the places from `first` to before `last` to out[0 .. n_statistics].
    void interval(std::size_t first, std::size_t last, double* out) {
        std::vector<double> head(n_statistics_ + 1, 0.0);
        const std::size_t from = before(first, head.data()), to = before(last, out);
        for (std::size_t f = 0; f <= n_statistics_; ++f)
            out[f] += prefix_[to * (n_statistics_ + 1) + f] - prefix_[from * (n_statistics_ + 1) + f] - head[f];
    }

private:
    static constexpr std::size_t table_step = 256;
    static constexpr std::size_t most_one_by_one = 1 << 14;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct Scores {
        const double *natural, *bias;
        std::size_t components;
    };

    // The bucket a place lies in; the end is a bucket of its own.
    std::size_t bucket_of(std::size_t i) const {
        std::size_t bucket = first_bucket_[i / table_step];
        while (bucket < sorted_.size() && starts_[bucket + 1] <= i) ++bucket;
        return bucket;
    }

    // Whether the row that belongs there in the order of the line is there: the least row of a bucket always is.
    bool known(std::size_t i) const {
        const std::size_t bucket = bucket_of(i);
        return starts_[bucket] == i || sorted_[bucket];
    }

    // A place between two others (the first of these is known), one that is known if there is any.
    std::size_t between(std::size_t low, std::size_t high) const {
        const std::size_t bucket = bucket_of(low), last = bucket_of(high);
        const std::size_t start = starts_[bucket + (last - bucket + 1) / 2];
        return low < start && start < high ? start : low + (high - low) / 2;
    }

    // Puts buckets in order.
    void sort_buckets(std::vector<std::size_t> buckets) {
        std::sort(buckets.begin(), buckets.end());
        buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
        Pool::run(buckets.size(), packing_.threads(), [&](std::size_t task) {
            packing_.sort_rows(starts_[buckets[task]], starts_[buckets[task] + 1], values_);
        });
        for (const std::size_t bucket : buckets) {
            packing_.measure_rows(starts_[bucket],
                                  starts_[bucket + 1]);  // not by threads: neighbours may share a block
            sorted_[bucket] = 1;
        }
    }

    // Adds what comes before a place in its bucket, which it returns.
    std::size_t before(std::size_t i, double* out) {
        const std::size_t bucket = bucket_of(i);
        if (!known(i)) sort_buckets({bucket});
        add(starts_[bucket], i, out);
        return bucket;
    }

    void statistics(std::size_t i, double* t) {
        if (!known(i)) sort_buckets({bucket_of(i)});
        row_statistics(packed_, i, t);
    }

    // The difference of two scores at a known place.
    double score(std::size_t i, const double* slope, double offset) const {
        double t[most_statistics];
        row_statistics(packed_, i, t);
        for (std::size_t f = 0; f < n_statistics_; ++f) offset += slope[f] * t[f];
        return offset;
    }

    // Adds weight and weighted statistics of the rows at some places as they lie, whole blocks at once.
    void add(std::size_t first, std::size_t last, double* out) const {
        constexpr std::size_t block = block_rows<double>;
        std::size_t i = first;
        for (; i < last && i % block != 0; ++i) add_row(i, out);
        for (; i + block <= last; i += block) add_block(i, out);
        for (; i < last; ++i) add_row(i, out);
    }

    void add_row(std::size_t i, double* out) const {
        double t[most_statistics];
        const double weight = packed_.weight(i);
        row_statistics(packed_, i, t);
        out[0] += weight;
        for (std::size_t f = 0; f < n_statistics_; ++f) out[f + 1] += weight * t[f];
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

    std::int32_t label(std::size_t i, const Scores& scores) {
        double t[most_statistics];
        statistics(i, t);
        return exact_label(t, scores.natural, scores.bias, scores.components, n_statistics_);
    }

    // By how much the owner beats component j at place i, less what rounding may account for.
    double margin(std::size_t i, std::size_t owner, std::size_t j, const Scores& scores) {
        double t[most_statistics];
        statistics(i, t);
        const double *own = scores.natural + owner * n_statistics_, *other = scores.natural + j * n_statistics_;
        double difference = scores.bias[owner] - scores.bias[j];
        double magnitude = std::abs(scores.bias[owner]) + std::abs(scores.bias[j]);
        for (std::size_t f = 0; f < n_statistics_; ++f) {
            difference += (own[f] - other[f]) * t[f];
            magnitude += (std::abs(own[f]) + std::abs(other[f])) * std::abs(t[f]);
        }
        return difference -
               8 * std::numeric_limits<double>::epsilon() * static_cast<double>(n_statistics_ + 4) * magnitude;
    }

    // The part of an interval in which the owner certainly beats every other component. Margins are monotone there, so
    // the uncertain places are at the ends.
    std::pair<std::size_t, std::size_t> undoubted(std::size_t first, std::size_t last, std::size_t owner,
                                                  const Scores& scores) {
        std::size_t from = first, to = last;
        for (std::size_t j = 0; j < scores.components && from < to; ++j) {
            if (j == owner || scores.bias[j] == -infinity || equal(owner, j, scores)) continue;
            const bool left = margin(from, owner, j, scores) > 0, right = margin(to - 1, owner, j, scores) > 0;
            if (left && right) continue;
            if (!left && !right) return {first, first};
            // Bisection for the first (or last) certain place.
            std::size_t low = from, high = to - 1;
            while (high - low > 1) {
                const std::size_t middle = between(low, high);
                ((margin(middle, owner, j, scores) > 0) == left ? low : high) = middle;
            }
            (left ? to : from) = high;
        }
        return {from, to};
    }

    // The same component twice: the lower index certainly wins.
    bool equal(std::size_t a, std::size_t b, const Scores& scores) const {
        return scores.bias[a] == scores.bias[b] &&
               std::equal(scores.natural + a * n_statistics_, scores.natural + (a + 1) * n_statistics_,
                          scores.natural + b * n_statistics_);
    }

    void all_crossings(const Scores& scores, std::vector<std::int64_t>& edges, std::vector<std::size_t>& wanted) const {
        std::vector<double> slope(n_statistics_);
        for (std::size_t j = 0; j < scores.components; ++j)
            for (std::size_t l = 0; l < j; ++l) {
                if (scores.bias[j] == -infinity || scores.bias[l] == -infinity) continue;
                for (std::size_t f = 0; f < n_statistics_; ++f)
                    slope[f] = scores.natural[j * n_statistics_ + f] - scores.natural[l * n_statistics_ + f];
                crossings(slope.data(), scores.bias[j] - scores.bias[l], edges, wanted);
            }
    }

    // Places where the difference of two scores changes sign, on either side of its extremum, and the extremum. Buckets
    // that must be put in order first are noted instead.
    void crossings(const double* slope, double offset, std::vector<std::int64_t>& edges,
                   std::vector<std::size_t>& wanted) const {
        const std::size_t last = rows_ - 1;
        if (n_statistics_ == 1 || last == 0) return sign_change(0, last, slope, offset, edges, wanted);
        const std::size_t buckets = sorted_.size();
        const auto start = [&](std::size_t bucket) { return bucket < buckets ? starts_[bucket] : last; };
        const auto itself = [](std::size_t place) { return place; };
        // From one bucket to the next the difference may fall although it rises at first.
        int at_first = trend(itself, 0, 0, start(1) - 1, slope, offset);
        if (at_first == 0) at_first = trend(start, 0, 0, buckets, slope, offset);
        // It lies after the first of these buckets begins, and before the one after the second does.
        const std::pair<std::size_t, std::size_t> near = extremum(start, 0, buckets, at_first, slope, offset);
        const std::size_t low = near.first, high = std::min(near.second + 1, buckets);
        sign_change(0, start(low), slope, offset, edges, wanted);
        sign_change(start(high), last, slope, offset, edges, wanted);
        bool in_order = true;
        for (std::size_t bucket = low; bucket < high; ++bucket) {
            if (sorted_[bucket]) continue;
            wanted.push_back(bucket);
            in_order = false;
        }
        if (!in_order) return;
        at_first = trend(itself, start(low), start(low), start(high), slope, offset);
        const auto [left, right] = extremum(itself, start(low), start(high), at_first, slope, offset);
        edges.push_back(static_cast<std::int64_t>(left));
        edges.push_back(static_cast<std::int64_t>(right));
        sign_change(start(low), left, slope, offset, edges, wanted);
        sign_change(right, start(high), slope, offset, edges, wanted);
    }

    // Neighbours among places, given by their numbers, between which the difference stops rising (or falling) as it
    // did at first; the latter may be the turning point itself.
    template <class Place>
    std::pair<std::size_t, std::size_t> extremum(const Place& place, std::size_t left, std::size_t right, int at_first,
                                                 const double* slope, double offset) const {
        while (right - left > 1) {
            const std::size_t middle = left + (right - left) / 2;
            (trend(place, middle, left, right, slope, offset) == at_first ? left : right) = middle;
        }
        return {left, right};
    }

    // +1 where the difference rises at a place, -1 where it falls, 0 where it is flat to rounding: neighbours further
    // and further away are asked until the change is more than rounding.
    template <class Place>
    int trend(const Place& place, std::size_t i, std::size_t first, std::size_t last, const double* slope,
              double offset) const {
        double t[most_statistics];
        row_statistics(packed_, place(i), t);
        double here = offset, magnitude = std::abs(offset);
        for (std::size_t f = 0; f < n_statistics_; ++f) {
            here += slope[f] * t[f];
            magnitude += std::abs(slope[f] * t[f]);
        }
        const double rounding = 16 * std::numeric_limits<double>::epsilon() * magnitude;
        for (std::size_t step = 1; step <= std::max(last - i, i - first); step *= 2) {
            const double ahead = step <= last - i ? score(place(i + step), slope, offset) - here : 0.0;
            if (std::abs(ahead) > rounding) return ahead > 0 ? 1 : -1;
            const double behind = step <= i - first ? here - score(place(i - step), slope, offset) : 0.0;
            if (std::abs(behind) > rounding) return behind > 0 ? 1 : -1;
        }
        return 0;
    }

    // Where the difference changes sign between two known places, if it does.
    void sign_change(std::size_t low, std::size_t high, const double* slope, double offset,
                     std::vector<std::int64_t>& edges, std::vector<std::size_t>& wanted) const {
        if (low >= high) return;
        const bool at_first = score(low, slope, offset) > 0;
        const auto is_before = [&](std::size_t place) { return (score(place, slope, offset) > 0) == at_first; };
        if (is_before(high)) return;
        // Among the starts of buckets, then within a bucket.
        std::size_t bucket = bucket_of(low);
        for (std::size_t after = bucket_of(high - 1) + 1; after - bucket > 1;) {
            const std::size_t middle = bucket + (after - bucket) / 2;
            (is_before(starts_[middle]) ? bucket : after) = middle;
        }
        low = std::max(low, starts_[bucket]);
        high = std::min(high, starts_[bucket + 1]);
        if (high - low > 1 && !sorted_[bucket]) return wanted.push_back(bucket);
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            (is_before(middle) ? low : high) = middle;
        }
        edges.push_back(static_cast<std::int64_t>(high));
    }

    Packing<double>& packing_;
    double* values_;
    Packed<double> packed_;
    std::vector<std::size_t> starts_;
    std::vector<char> sorted_;
    std::vector<std::uint32_t> first_bucket_;  // the bucket of every n-th place
    std::vector<double> prefix_;
    std::size_t rows_, n_statistics_;
};

}  // namespace kmle
