// Values of a line put into buckets: every value of a bucket lies above all values of the buckets before it. Within a
// bucket there is no order yet, but that its least value comes first. This costs far less than sorting, and a pass over
// the line asks for the order of few buckets only (see line.hpp).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "core/packed.hpp"
#include "core/pool.hpp"

namespace kmle {

class BucketSort {
public:
    // Buckets begin at the borders, in order, but for the first, which takes all that lies below the second. Values are
    // given twice, in blocks.
    BucketSort(const double* borders, std::size_t buckets, std::size_t rows, std::size_t rows_a_block)
        : buckets_(buckets), rows_a_block_(rows_a_block), borders_(borders, borders + buckets),
          numbers_(aligned<std::uint16_t>(rows)) {
        make_table();
        next_.assign(std::max<std::size_t>(1, rounded_up(rows, rows_a_block) / rows_a_block) * apart(), 0);
    }

    // Which bucket each value of a block belongs to. Blocks may be counted by different threads.
    void count(std::size_t first, const double* values, std::size_t count) {
        const std::size_t whole = count / at_once * at_once;
        count_groups(first, values, whole, at_once);
        if (whole == count) return;
        double rest[at_once] = {};
        std::copy(values + whole, values + count, rest);
        count_groups(first + whole, rest, at_once, count - whole);
    }

    // Where buckets begin, and within them what comes from each block: to be called when all are counted.
    void lay_out() {
        std::int64_t before = 0;
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            if (starts_.empty() || starts_.back() < before) starts_.push_back(before);
            for (std::size_t b = bucket; b < next_.size(); b += apart()) before += std::exchange(next_[b], before);
        }
        if (starts_.back() < before) starts_.push_back(before);
    }

    // Puts the values of a block, and their weights where there are any, into their buckets.
    void place(std::size_t first, const double* values, std::size_t count, const double* weights, double* line,
               double* line_weights) {
        std::int64_t* next = next_.data() + first / rows_a_block_ * apart();
        const std::uint16_t* numbers = numbers_.get() + first;
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t to = next[numbers[i]]++;
            line[to] = values[i];
            if (weights) line_weights[to] = weights[i];
        }
    }

    // Brings the least value of each bucket to its front; returns where buckets begin, and the end.
    const std::vector<std::int64_t>& finish(double* line, double* weights, std::size_t threads) {
        numbers_.reset();
        const std::size_t count = starts_.size() - 1, step = 64;
        Pool::run(rounded_up(count, step) / step, threads, [&](std::size_t task) {
            for (std::size_t bucket = task * step; bucket < std::min(count, (task + 1) * step); ++bucket) {
                const std::int64_t first = starts_[bucket];
                const std::int64_t least = std::min_element(line + first, line + starts_[bucket + 1]) - line;
                std::swap(line[first], line[least]);
                if (weights) std::swap(weights[first], weights[least]);
            }
        });
        return starts_;
    }

private:
    // Values that are looked up side by side, so that none waits for another.
    static constexpr std::size_t at_once = 16;
    static constexpr std::size_t cells_a_run = 8;

    // Cells of equal width between the outermost borders of buckets. Sums and products round in order, so cells are in
    // the order of values.
    struct Cells {
        double low = 0.0, scale = 0.0, last = 0.0;

        std::int32_t of(double value) const {
            double cell = (value - low) * scale;
            cell = cell > 0 ? cell : 0.0;  // nor is it a NaN then
            return static_cast<std::int32_t>(cell < last ? cell : last);
        }
    };

    // How far the numbers of blocks lie apart: no power of two, as those of one bucket would share few places of the
    // cache.
    std::size_t apart() const { return buckets_ + 8; }

    // Counts groups of values.
    void count_groups(std::size_t first, const double* values, std::size_t count, std::size_t of_each) {
        std::int64_t* sizes = next_.data() + first / rows_a_block_ * apart();
        std::uint16_t* numbers = numbers_.get() + first;
        const double* borders = borders_.data();
        const std::uint16_t* first_bucket = first_run_.data();
        const Cells cells = cells_;
        const std::uint32_t steps = steps_;
        for (std::size_t i = 0; i < count; i += at_once) {
            const double* value = values + i;
            std::uint32_t bucket[at_once];
            std::int32_t cell[at_once];
            for (std::size_t l = 0; l < at_once; ++l) cell[l] = cells.of(value[l]);
            for (std::size_t l = 0; l < at_once; ++l) bucket[l] = first_bucket[cell[l]];
            for (std::uint32_t step = steps; step > 0; step /= 2)
                for (std::size_t l = 0; l < at_once; ++l) bucket[l] += value[l] >= borders[bucket[l] + step] ? step : 0;
            for (std::size_t l = 0; l < of_each; ++l) {
                numbers[i + l] = static_cast<std::uint16_t>(bucket[l]);
                ++sizes[bucket[l]];
            }
        }
    }

    // What bisection begins with: the bucket of the first border in each cell, and as many steps as the fullest cell
    // needs. Where values lie far apart most borders share a cell, and bisection does it all.
    void make_table() {
        first_run_.assign(cells_a_run * buckets_, 0);
        if (buckets_ == 1) return;
        const double count = static_cast<double>(first_run_.size()), scale = count / (borders_.back() - borders_[1]);
        cells_ = {borders_[1], scale < std::numeric_limits<double>::max() ? scale : 0.0, count - 1};
        std::size_t most = 0;
        for (std::size_t bucket = 0, first = 0, cell = 0; cell < first_run_.size(); ++cell) {
            while (bucket + 1 < buckets_ && static_cast<std::size_t>(cells_.of(borders_[bucket + 1])) <= cell) ++bucket;
            first_run_[cell] = static_cast<std::uint16_t>(first);
            most = std::max(most, bucket - first);
            first = bucket;
        }
        while (2 * steps_ <= most) steps_ = steps_ ? 2 * steps_ : 1;
        // Beyond the last border there is none that a value could reach.
        borders_.resize(buckets_ + 2 * steps_, std::numeric_limits<double>::infinity());
    }

    std::size_t buckets_, rows_a_block_;
    std::vector<double> borders_;  // that of the first bucket is never asked for
    std::vector<std::uint16_t> first_run_;
    Cells cells_;
    std::uint32_t steps_ = 0;         // the first step of bisection: a power of two, or none
    Aligned<std::uint16_t> numbers_;  // the bucket of each value
    std::vector<std::int64_t> next_;  // [block][bucket]: how many values, then where the next one comes
    std::vector<std::int64_t> starts_;
};

}  // namespace kmle
