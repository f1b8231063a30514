// Hard passes over all rows, or over those whose lead may be gone.

#include "labelling.hpp"

#include <memory>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// From so many products a row on, single precision saves more than its rounding costs.
constexpr std::size_t worth_screening = 128;
// Columns and coefficients up to here have products that single precision can hold.
constexpr double largest_column = 1e18, largest_coefficient = 1e36;
// What is lost where single precision ends, below its smallest number.
constexpr double smallest_single = 1.5e-45;

// A hard pass over rows in double precision that scores them in single precision, in half the time; rows that are in
// doubt after that are gathered and scored again in double precision. Where those are many it is given up.
class Screening {
public:
    Screening(const Packed<double>& packed, const Model<float>& single, const Model<double>& precise, HardTask& task)
        : packed_(packed), single_(single), precise_(precise), task_(task),
          in_single_{nullptr, packed.largest, packed.weights, packed.rows, packed.columns, packed.order, packed.features},
          work_(packed.order, single.components), booking_(packed.order, single.components),
          refiner_(packed, precise, task), top_(*std::max_element(precise.largest, precise.largest + packed.order)) {}

    void run() {
        for (std::size_t b = task_.first_block; b < task_.last_block; b += blocks) {
            const std::size_t end = std::min(b + blocks, task_.last_block);
            const double doubts[blocks] = {doubt_of(b), doubt_of(end - 1)};
            const bool pays = std::max(doubts[0], doubts[1]) < largest_float && refined_ <= few_refined + seen_ / 4;
            // Passes with margins take turns with those that skip, by what they cost; they must sum up alike.
            if (pays || task_.margins)
                screen(b, end, doubts);
            else
                for (std::size_t c = b; c < end; ++c) visit(packed_, precise_, c, booking_, task_);
        }
        finish();
    }

    static constexpr std::size_t wide = block_rows<float>;

    // Any rows, up to `wide` of them, whose scores have these bounds on their rounding.
    void look_at(const std::size_t* places, std::size_t count, const double* doubts) {
        float* statistics = work_.statistics.get();
        for (std::size_t w = 0; w < wide; ++w) {
            const double* values = w < count ? packed_.block(places[w] / rows) + places[w] % rows : nullptr;
            for (std::size_t a = 0; a < packed_.columns; ++a)
                statistics[a * wide + w] = values ? static_cast<float>(values[a * rows]) : 0.0f;
        }
        find(statistics, count);
        for (std::size_t w = 0; w < count; ++w) {
            decide(places[w] / rows, places[w] % rows, w, doubts[w]);
            book_moves(places[w] / rows);
        }
    }

    void finish() { refiner_.finish(); }

    // A bound on the rounding of scores in single precision; infinite where they may overflow.
    double doubt_of(std::size_t b) const {
        const double* largest = packed_.largest + b * packed_.columns;
        const double column = *std::max_element(largest, largest + packed_.columns);
        if (column > largest_column || top_ > largest_coefficient) return std::numeric_limits<double>::infinity();
        const double lost = 4 * smallest_single * static_cast<double>(packed_.order) * (1 + column) * (1 + column) * (1 + top_);
        return near_tie(in_single_, single_, largest) + lost;
    }

private:
    static constexpr std::size_t rows = block_rows<double>, blocks = 2;
    static_assert(blocks * rows == wide);
    static constexpr std::size_t few_refined = 1024;

    // Scores rows whose columns are there, in the layout of a block.
    void find(float* statistics, std::size_t count) {
        build_statistics(packed_.features, packed_.columns, wide, statistics);
        work_.best.find(statistics, single_, work_.scores.get());
        seen_ += count;
        task_.looked_at += static_cast<std::int64_t>(count);
    }

    void book_moves(std::size_t block) {
        if (booking_.move_count == 0) return;
        task_.changed += static_cast<std::int64_t>(booking_.move_count);
        book(packed_, packed_.block(block), booking_, task_);
    }

    void screen(std::size_t b, std::size_t end, const double* doubts) {
        const std::size_t first = b * rows, count = std::min(end * rows, packed_.rows) - first;
        float* statistics = work_.statistics.get();
        for (std::size_t a = 0; a < packed_.columns; ++a)
            for (std::size_t c = b; c < b + blocks; ++c) {
                float* column = statistics + a * wide + (c - b) * rows;
                if (c < end)
                    std::copy_n(packed_.block(c) + a * rows, rows, column);
                else
                    std::fill_n(column, rows, 0.0f);
            }
        find(statistics, count);
        const bool at_once = !task_.margins && count == wide;
        if (at_once && !work_.best.settle(task_.labels + first, static_cast<float>(std::max(doubts[0], doubts[1]) * 1.000001)))
            return;
        for (std::size_t c = b; c < end; ++c) {
            for (std::size_t r = 0; r < std::min(rows, packed_.rows - c * rows); ++r)
                if (!at_once || work_.best.unsettled[(c - b) * rows + r]) decide(c, r, (c - b) * rows + r, doubts[c - b]);
            book_moves(c);
        }
    }

    // Row r of block c, whose scores are at `place`.
    void decide(std::size_t c, std::size_t r, std::size_t place, double doubt) {
        const std::size_t i = c * rows + r;
        const double margin = static_cast<double>(work_.best.score[place]) - static_cast<double>(work_.best.second[place]);
        if (!(margin > doubt)) {  // NaN is in doubt too
            ++refined_;
            refiner_.add(i, packed_.block(c) + r, rows, near_tie(packed_, precise_, c));
            return;
        }
        // Rounded down, so that what is left of a margin is never more than it was.
        if (task_.margins) task_.margins[i] = static_cast<float>(std::min((margin - doubt) * 0.999999, largest_float));
        const std::int32_t label = work_.best.label[place], before = task_.labels[i];
        if (label == before) return;
        task_.labels[i] = label;
        booking_.moves[booking_.move_count++] = {r, before, label, packed_.weight(i)};
    }

    const Packed<double>& packed_;
    const Model<float>& single_;
    const Model<double>& precise_;
    HardTask& task_;
    Packed<float> in_single_;
    Workspace<float> work_;
    Workspace<double> booking_;
    Refiner refiner_;
    double top_;
    std::size_t seen_ = 0, refined_ = 0;
};

}  // namespace

template <class T>
void hard(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise, HardTask& task) {
    if constexpr (sizeof(T) == 4) {
        auto work = std::make_unique<Workspace<T>>(packed.order, precise.components);
        Refiner refiner(packed, precise, task);
        work->refiner = &refiner;
        for (std::size_t b = task.first_block; b < task.last_block; ++b) visit(packed, single, b, *work, task);
        refiner.finish();
    } else if (packed.order * precise.components >= worth_screening) {
        std::make_unique<Screening>(packed, single, precise, task)->run();
    } else {
        auto work = std::make_unique<Workspace<T>>(packed.order, precise.components);
        for (std::size_t b = task.first_block; b < task.last_block; ++b) visit(packed, precise, b, *work, task);
    }
}

namespace {

// Any rows in the precision they are in, gathered to a block.
template <class T>
class Gathering {
public:
    static constexpr std::size_t wide = block_rows<T>;

    Gathering(const Packed<T>& packed, const Model<T>& model, HardTask& task)
        : packed_(packed), model_(model), task_(task), work_(packed.order, model.components),
          gathered_(packed.columns * wide) {}

    double doubt_of(std::size_t block) const { return near_tie(packed_, model_, block); }

    void look_at(const std::size_t* places, std::size_t count, const double* doubts) {
        for (std::size_t r = 0; r < count; ++r) {
            const T* values = packed_.block(places[r] / wide) + places[r] % wide;
            for (std::size_t a = 0; a < packed_.columns; ++a) gathered_.get()[a * wide + r] = values[a * wide];
        }
        const double doubt = *std::max_element(doubts, doubts + count);
        label_rows(packed_, model_, gathered_.get(), 0, places, count, doubt, work_, task_);
    }

    void finish() {}

private:
    const Packed<T>& packed_;
    const Model<T>& model_;
    HardTask& task_;
    Workspace<T> work_;
    Buffer<T> gathered_;
};

// The rows whose lead may be gone; the others keep their labels.
template <class T, class Looking>
void skip(const Packed<T>& packed, const Drift& drift, Looking& looking, HardTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    std::size_t places[Looking::wide], waiting = 0;
    double doubts[Looking::wide];
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * rows, last = std::min(packed.rows, first + rows);
        double block_doubt = -1.0;
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t label = static_cast<std::size_t>(task.labels[i]);
            float& margin = task.margins[i];
            margin -= drift.table[label * drift.distance_count + drift.distances[i]];
            if (margin > 0.0f) continue;
            if (block_doubt < 0.0) block_doubt = looking.doubt_of(b);
            // Its columns lie apart: they are on their way while others are looked for.
            for (std::size_t a = 0; a < packed.columns; ++a) __builtin_prefetch(packed.block(b) + a * rows + (i - first));
            places[waiting] = i;
            doubts[waiting] = block_doubt;
            if (++waiting < Looking::wide) continue;
            looking.look_at(places, waiting, doubts);
            waiting = 0;
        }
    }
    if (waiting > 0) looking.look_at(places, waiting, doubts);
    looking.finish();
}

}  // namespace

template <class T>
void skipping(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise, const Drift& drift,
              HardTask& task) {
    if constexpr (sizeof(T) == 4)
        skip(packed, drift, *std::make_unique<Gathering<float>>(packed, single, task), task);
    else if (packed.order * precise.components >= worth_screening)
        skip(packed, drift, *std::make_unique<Screening>(packed, single, precise, task), task);
    else
        skip(packed, drift, *std::make_unique<Gathering<double>>(packed, precise, task), task);
}

template void hard(const Packed<double>&, const Model<float>&, const Model<double>&, HardTask&);
template void hard(const Packed<float>&, const Model<float>&, const Model<double>&, HardTask&);
template void skipping(const Packed<double>&, const Model<float>&, const Model<double>&, const Drift&, HardTask&);
template void skipping(const Packed<float>&, const Model<float>&, const Model<double>&, const Drift&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
