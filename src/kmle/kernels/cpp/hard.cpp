// Hard passes over all rows.

#include "labelling.hpp"

#include <memory>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// From so many products a row on, single precision saves more than its rounding costs.
constexpr std::size_t worth_screening = 128;

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
            if (pays)
                screen(b, end, doubts);
            else
                for (std::size_t c = b; c < end; ++c) visit(packed_, precise_, c, booking_, task_);
        }
        refiner_.finish();
    }

private:
    static constexpr std::size_t wide = block_rows<float>;
    static constexpr std::size_t rows = block_rows<double>, blocks = 2;
    static_assert(blocks * rows == wide);
    static constexpr std::size_t few_refined = 1024;

    double doubt_of(std::size_t b) const { return single_doubt(in_single_, single_, packed_.largest + b * packed_.columns, top_); }

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
        build_statistics(packed_.features, packed_.columns, wide, statistics);
        work_.best.find(statistics, single_, work_.scores.get());
        seen_ += count;
        const bool at_once = count == wide;
        if (at_once && task_.margins) work_.best.margins(task_.margins + first);
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
        if (task_.margins) task_.margins[i] = static_cast<float>(std::min(margin, largest_float));
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

template void hard(const Packed<double>&, const Model<float>&, const Model<double>&, HardTask&);
template void hard(const Packed<float>&, const Model<float>&, const Model<double>&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
