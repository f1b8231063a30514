// Values of a line put into runs: every value of a run lies above all values of the runs before it. Within a run there
// is no order yet, but that its least value comes first. This costs far less than sorting, and a pass over the line
// asks for the order of few runs only (see line.hpp).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "memory.hpp"
#include "passes.hpp"
#include "pool.hpp"

namespace kmle {

class LineOrder {
public:
    // Runs begin at the borders, in order, but for the first, which takes all that lies below the second. Values are
    // given twice, in blocks of so many.
    LineOrder(const double* borders, std::size_t runs, std::size_t rows, std::size_t rows_a_block)
        : runs_(runs), rows_a_block_(rows_a_block), borders_(borders, borders + runs),
          numbers_(aligned<std::uint16_t>(rows)) {
        make_table();
        next_.assign(std::max<std::size_t>(1, rounded_up(rows, rows_a_block) / rows_a_block) * apart(), 0);
    }

    // Which run each value of a block belongs to. Blocks may be counted by different threads.
    void count(std::size_t first, const double* values, std::size_t count) {
        const std::size_t whole = count / together * together;
        count_groups(first, values, whole, together);
        if (whole == count) return;
        double rest[together] = {};
        std::copy(values + whole, values + count, rest);
        count_groups(first + whole, rest, together, count - whole);
    }

    // Where runs begin, and within them what comes from each block: to be called when all are counted.
    void lay_out() {
        std::int64_t before = 0;
        for (std::size_t run = 0; run < runs_; ++run) {
            if (starts_.empty() || starts_.back() < before) starts_.push_back(before);
            for (std::size_t b = run; b < next_.size(); b += apart()) before += std::exchange(next_[b], before);
        }
        if (starts_.back() < before) starts_.push_back(before);
    }

    // Puts the values of a block, and their weights where there are any, into their runs.
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

    // Brings the least value of each run to its front; returns where runs begin, and the end.
    const std::vector<std::int64_t>& finish(double* line, double* weights, std::size_t threads) {
        numbers_.reset();
        const std::size_t count = starts_.size() - 1, step = 64;
        Pool::run(rounded_up(count, step) / step, threads, [&](std::size_t task) {
            for (std::size_t run = task * step; run < std::min(count, (task + 1) * step); ++run) {
                const std::int64_t first = starts_[run];
                const std::int64_t least = std::min_element(line + first, line + starts_[run + 1]) - line;
                std::swap(line[first], line[least]);
                if (weights) std::swap(weights[first], weights[least]);
            }
        });
        return starts_;
    }

private:
    // Values that are looked up side by side, for none waits for another.
    static constexpr std::size_t together = 16;
    static constexpr std::size_t cells_a_run = 8;

    // Cells of equal width between the outermost borders of runs. Sums and products round in order, so cells are in the
    // order of values.
    struct Cells {
        double low = 0.0, scale = 0.0, last = 0.0;

        std::int32_t of(double value) const {
            double cell = (value - low) * scale;
            cell = cell > 0 ? cell : 0.0;  // nor is it a NaN then
            return static_cast<std::int32_t>(cell < last ? cell : last);
        }
    };

    // How far the numbers of blocks lie apart: no power of two, as those of one run would share few places of the
    // cache.
    std::size_t apart() const { return runs_ + 8; }

    // Counts groups of values: so many of each.
    void count_groups(std::size_t first, const double* values, std::size_t count, std::size_t of_each) {
        std::int64_t* sizes = next_.data() + first / rows_a_block_ * apart();
        std::uint16_t* numbers = numbers_.get() + first;
        const double* borders = borders_.data();
        const std::uint16_t* first_run = first_run_.data();
        const Cells cells = cells_;
        const std::uint32_t steps = steps_;
        for (std::size_t i = 0; i < count; i += together) {
            const double* value = values + i;
            std::uint32_t run[together];
            std::int32_t cell[together];
            for (std::size_t l = 0; l < together; ++l) cell[l] = cells.of(value[l]);
            for (std::size_t l = 0; l < together; ++l) run[l] = first_run[cell[l]];
            for (std::uint32_t step = steps; step > 0; step /= 2)
                for (std::size_t l = 0; l < together; ++l) run[l] += value[l] >= borders[run[l] + step] ? step : 0;
            for (std::size_t l = 0; l < of_each; ++l) {
                numbers[i + l] = static_cast<std::uint16_t>(run[l]);
                ++sizes[run[l]];
            }
        }
    }

    // What bisection begins with: the run of the first border in each cell, and as many steps as the fullest cell
    // needs. Where values lie far apart most borders share a cell, and bisection does it all.
    void make_table() {
        first_run_.assign(cells_a_run * runs_, 0);
        if (runs_ == 1) return;
        const double count = static_cast<double>(first_run_.size()), scale = count / (borders_.back() - borders_[1]);
        cells_ = {borders_[1], scale < std::numeric_limits<double>::max() ? scale : 0.0, count - 1};
        std::size_t most = 0;
        for (std::size_t run = 0, first = 0, cell = 0; cell < first_run_.size(); ++cell) {
            while (run + 1 < runs_ && static_cast<std::size_t>(cells_.of(borders_[run + 1])) <= cell) ++run;
            first_run_[cell] = static_cast<std::uint16_t>(first);
            most = std::max(most, run - first);
            first = run;
        }
        while (2 * steps_ <= most) steps_ = steps_ ? 2 * steps_ : 1;
        // Beyond the last border there is none that a value could reach.
        borders_.resize(runs_ + 2 * steps_, std::numeric_limits<double>::infinity());
    }

    std::size_t runs_, rows_a_block_;
    std::vector<double> borders_;  // that of the first run is never asked for
    std::vector<std::uint16_t> first_run_;
    Cells cells_;
    std::uint32_t steps_ = 0;         // the first step of bisection: a power of two, or none
    Aligned<std::uint16_t> numbers_;  // the run of each value
    std::vector<std::int64_t> next_;  // [block][run]: how many values, then where the next one comes
    std::vector<std::int64_t> starts_;
};

}  // namespace kmle
