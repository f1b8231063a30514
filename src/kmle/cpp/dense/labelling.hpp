// Hard labels of a block (Lloyd 1982, Banerjee et al. 2005): the best component of every row, and the rows that move.

#pragma once

#include <memory>

#include "dense/centered.hpp"
#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

constexpr double largest_float = std::numeric_limits<float>::max();

// The best component of every row of a block, its score and the second best score.
template <class T>
struct Best {
    using Integer = typename VectorOf<T>::Integer;
    alignas(64) T score[block_rows<T>], second[block_rows<T>];
    alignas(64) Integer label[block_rows<T>];
    alignas(64) Integer undecided[block_rows<T>];  // rows that move or nearly tie, see mark_undecided

    // `scratch` holds the scores of a strip with all components, where there are many statistics. What is wanted next
    // is fetched on the way.
    void find(const T* statistics, const Model<T>& model, T* scratch, Fetching next = {}) {
        constexpr std::size_t rows = block_rows<T>, width = strip * lanes<T>;
        const bool wide = model.n_statistics > statistics_at_once;
        for (std::size_t r = 0; r < rows; r += width) {
            Vec<T> top[strip], runner_up[strip];
            IntVec<T> winner[strip];
            for (std::size_t v = 0; v < strip; ++v) {
                top[v] = runner_up[v] = broadcast(-std::numeric_limits<T>::infinity());
                winner[v] = IntVec<T>{};
            }
            if (wide) score_all(statistics + r, rows, model, scratch);
            for (std::size_t j = 0; j < model.padded(); j += group) {
                Vec<T> scores[group][strip];
                next.step();
                if (wide)
                    for (std::size_t g = 0; g < group; ++g)
                        for (std::size_t v = 0; v < strip; ++v)
                            scores[g][v] = load(scratch + (j + g) * width + v * lanes<T>);
                else
                    kmle::KMLE_INSTRUCTION_SET::score(statistics + r, rows, model.n_statistics,
                                                      model.grouped + j * model.n_statistics, model.grouped_bias + j,
                                                      scores);
                for (std::size_t g = 0; g < group; ++g)
                    for (std::size_t v = 0; v < strip; ++v) {
                        const IntVec<T> better = scores[g][v] > top[v];  // strictly: a tie stays with the lowest
                        const Vec<T> loser = better ? top[v] : scores[g][v];
                        runner_up[v] = loser > runner_up[v] ? loser : runner_up[v];
                        top[v] = better ? scores[g][v] : top[v];
                        winner[v] = better ? IntVec<T>{} + static_cast<Integer>(j + g) : winner[v];
                    }
            }
            for (std::size_t v = 0; v < strip; ++v) {
                store(score + r + v * lanes<T>, top[v]);
                store(second + r + v * lanes<T>, runner_up[v]);
                std::memcpy(label + r + v * lanes<T>, &winner[v], sizeof winner[v]);
            }
        }
    }

    // The same by centered scores of rows with these columns; `space` holds a block of them.
    void find(const double* columns, const Centered& centered, std::size_t components, double* space) {
        static_assert(block_rows<double> == centered_rows);
        alignas(64) double scores[centered_rows];
        std::fill_n(score, block_rows<T>, -std::numeric_limits<T>::infinity());
        std::fill_n(second, block_rows<T>, -std::numeric_limits<T>::infinity());
        std::fill_n(label, block_rows<T>, Integer(0));
        for (std::size_t j = 0; j < components; ++j) {
            if (!centered.active(j)) continue;
            centered_scores(centered, j, columns, space, scores);
            for (std::size_t r = 0; r < block_rows<T>; r += lanes<T>) {
                const Vec<T> found = load(scores + r), top = load(score + r), runner_up = load(second + r);
                const IntVec<T> better = found > top;  // strictly: a tie stays with the lowest
                const Vec<T> loser = better ? top : found;
                IntVec<T> winner;
                std::memcpy(&winner, label + r, sizeof winner);
                winner = better ? IntVec<T>{} + static_cast<Integer>(j) : winner;
                std::memcpy(label + r, &winner, sizeof winner);
                store(score + r, better ? found : top);
                store(second + r, loser > runner_up ? loser : runner_up);
            }
        }
    }

    // In how many steps of work a block is labelled.
    static std::size_t steps(const Model<T>& model) {
        return model.padded() / group * (block_rows<T> / (strip * lanes<T>));
    }

    // Whether the margin of some row is at most this, or NaN.
    bool any_within(T bound) const {
        IntVec<T> any{};
        for (std::size_t r = 0; r < block_rows<T>; r += lanes<T>)
            any |= ~(load(score + r) - load(second + r) > broadcast(bound));
        return any_lane(any);
    }

    // The best scores minus the second best.
    void margins(float* out) const {
        for (std::size_t r = 0; r < block_rows<T>; ++r) {
            const double margin = static_cast<double>(score[r]) - static_cast<double>(second[r]);
            out[r] = static_cast<float>(margin < largest_float ? margin : largest_float);
        }
    }

    // Marks the rows of a whole block whose margin is at most the error bound of their label, or whose label is not the
    // one before (null: there is none); returns whether there are any.
    bool mark_undecided(const std::int32_t* before, const T* error_bounds) {
        for (std::size_t r = 0; r < block_rows<T>; ++r) error_bound[r] = error_bounds[label[r]];
        return mark_undecided(before);
    }

    // The same with one error bound for all labels.
    bool mark_undecided(const std::int32_t* before, T shared_bound) {
        std::fill_n(error_bound, block_rows<T>, shared_bound);
        return mark_undecided(before);
    }

    // One bit for each row of the block that is undecided.
    std::uint64_t open_rows() const {
        std::uint64_t bits = 0;
        for (std::size_t r = 0; r < block_rows<T>; r += lanes<T>) {
            IntVec<T> open;
            std::memcpy(&open, undecided + r, sizeof open);
            bits |= std::uint64_t{bits_of<T>(open)} << r;
        }
        return bits;
    }

    // All labels of a block.
    void write(std::int32_t* to) const {
        for (std::size_t r = 0; r < block_rows<T>; ++r) to[r] = static_cast<std::int32_t>(label[r]);
    }

private:
    alignas(64) T error_bound[block_rows<T>];

    bool mark_undecided(const std::int32_t* before) {
        IntVec<T> any{};
        for (std::size_t r = 0; r < block_rows<T>; r += lanes<T>) {
            IntVec<T> open = ~(load(score + r) - load(second + r) > load(error_bound + r));
            if (before) {
                IntVec<T> now;
                std::memcpy(&now, label + r, sizeof now);
                open |= now != widened<T>(before + r);
            }
            std::memcpy(undecided + r, &open, sizeof open);
            any |= open;
        }
        return any_lane(any);
    }

    static bool any_lane(IntVec<T> flags) {
        Integer found = 0;
        for (std::size_t lane = 0; lane < lanes<T>; ++lane) found |= flags[lane];
        return found != 0;
    }
};

// A row that moves.
struct Move {
    std::size_t row;    // of the block
    std::int32_t from;  // negative: from nowhere
    std::int32_t to;
    double weight;
};

// What a hard pass needs beside the rows, kept from block to block.
template <class T>
struct Workspace {
    Buffer<T> statistics, scores;
    Buffer<double> one_row;
    Best<T> best;
    std::size_t places[block_rows<T>];
    Move moves[block_rows<T>];
    std::size_t move_count = 0;

    Workspace(std::size_t n_statistics, std::size_t components)
        : statistics(n_statistics * block_rows<T>), scores(rounded_up(components, group) * strip * lanes<T>),
          one_row(n_statistics) {}
};

// Adds the rows of a block that move to the counts and sums of their components. Where the statistics are the columns
// and many, they are taken some at a time, so that what is fetched of a column serves every row.
template <class T>
void book(const Packed<T>& packed, const T* values, Workspace<T>& work, HardTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    const std::size_t n_statistics = packed.n_statistics;
    const std::size_t step = packed.features == Features::identity ? statistics_at_once : n_statistics;
    for (std::size_t m = 0; m < work.move_count; ++m) {
        const Move& move = work.moves[m];
        task.counts[move.to] += move.weight;
        ++task.sizes[move.to];
        if (move.from < 0) continue;
        task.counts[move.from] -= move.weight;
        --task.sizes[move.from];
    }
    for (std::size_t f = 0; f < n_statistics; f += step) {
        const std::size_t count = std::min(step, n_statistics - f);
        for (std::size_t m = 0; m < work.move_count; ++m) {
            const Move& move = work.moves[m];
            double* statistics = work.one_row.get();
            if (packed.features == Features::identity)
                for (std::size_t a = 0; a < count; ++a) statistics[a] = values[(f + a) * rows + move.row];
            else
                expand(packed.features, packed.columns, values + move.row, rows, statistics);
            double* gained = task.sums + static_cast<std::size_t>(move.to) * n_statistics + f;
            for (std::size_t a = 0; a < count; ++a) gained[a] += move.weight * statistics[a];
            if (move.from < 0) continue;
            double* lost = task.sums + static_cast<std::size_t>(move.from) * n_statistics + f;
            for (std::size_t a = 0; a < count; ++a) lost[a] -= move.weight * statistics[a];
        }
    }
    work.move_count = 0;
}

// Labels rows in double precision whose columns lie in `values` as a block does, and adds up those that move. `places`
// are the rows (null: they are those of the block from `first` on).
inline void label_rows(const Packed<double>& packed, const Model<double>& model, const double* values,
                       std::size_t first, const std::size_t* places, std::size_t count, double error_bound,
                       Workspace<double>& work, HardTask& task, Fetching next = {}) {
    constexpr std::size_t rows = block_rows<double>;
    if (model.centered) {
        // These scores are the same wherever they are computed, so ties are exact.
        work.best.find(values, *model.centered, model.components, work.statistics.get());
        error_bound = -1.0;
    } else {
        const double* statistics = values;
        if (packed.features != Features::identity) {
            std::copy_n(values, packed.columns * rows, work.statistics.get());
            build_statistics(packed.features, packed.columns, rows, work.statistics.get());
            statistics = work.statistics.get();
        }
        work.best.find(statistics, model, work.scores.get(), next);
    }
    // A whole block in its place, as nearly all are, is compared with its labels at once.
    const bool at_once = !places && count == rows;
    if (at_once && task.margins) work.best.margins(task.margins + first);
    if (at_once && task.fresh) work.best.write(task.labels + first);
    if (at_once && !work.best.mark_undecided(task.fresh ? nullptr : task.labels + first, error_bound)) return;
    for (std::size_t r = 0; r < count; ++r) {
        if (at_once && !work.best.undecided[r]) continue;
        const std::size_t i = places ? places[r] : first + r;
        const double margin = work.best.score[r] - work.best.second[r];
        std::int32_t label = static_cast<std::int32_t>(work.best.label[r]);
        const bool nearly_tied = !(margin > error_bound);  // NaN too
        if (task.margins) task.margins[i] = nearly_tied ? 0.0f : static_cast<float>(std::min(margin, largest_float));
        if (nearly_tied) {
            expand(packed.features, packed.columns, values + r, rows, work.one_row.get());
            label = exact_label(work.one_row.get(), model.natural, model.bias, model.components, packed.n_statistics);
        }
        const std::int32_t before = task.labels[i];
        if (label == before) continue;
        task.labels[i] = label;
        if (!task.fresh) work.moves[work.move_count++] = {r, before, label, packed.weight(i)};
    }
    task.changed += static_cast<std::int64_t>(work.move_count);
    if (work.move_count > 0) book(packed, values, work, task);
}

// Rows uncertain after single precision, gathered to blocks and labelled in double precision. What moves is summed by
// itself until the end, so that sums do not depend on how many rows had been gathered when another row moved.
class Refiner {
public:
    template <class T>
    Refiner(const Packed<T>& packed, const Model<double>& model, HardTask& task)
        : packed_{nullptr, nullptr, packed.weights, packed.rows, packed.columns, packed.n_statistics, packed.features},
          model_(model), task_(task), own_(task), gathered_(packed.columns * block_rows<double>),
          block_(packed.columns * block_rows<double>), counts_(model.components),
          sums_(model.components * packed.n_statistics),
          work_(std::make_unique<Workspace<double>>(packed.n_statistics, model.components)) {
        own_.counts = counts_.get();
        own_.sums = sums_.get();
        own_.changed = own_.rescored = 0;
    }

    // `error_bound` bounds the rounding of the scores of this row in double precision.
    template <class T>
    void add(std::size_t place, const T* values, std::size_t stride, double error_bound) {
        for (std::size_t a = 0; a < packed_.columns; ++a)
            gathered_.get()[a * block_rows<double> + waiting_] = values[a * stride];
        work_->places[waiting_] = place;
        error_bound_ = std::max(error_bound_, error_bound);
        if (++waiting_ == block_rows<double>) flush();
    }

    // Rows that lie together, from `first` on, their columns from `place` on in a block of T.
    template <class T>
    void add_block(std::size_t first, std::size_t count, const T* values) {
        const double* columns = nullptr;
        if constexpr (sizeof(T) == 8) {
            columns = values;
        } else {
            for (std::size_t a = 0; a < packed_.columns; ++a)
                std::copy_n(values + a * block_rows<T>, block_rows<double>, block_.get() + a * block_rows<double>);
            columns = block_.get();
        }
        own_.rescored += static_cast<std::int64_t>(count * model_.components);
        label_rows(packed_, model_, columns, first, nullptr, count, 0.0, *work_, own_);
    }

    // The last rows, and what all of them add up to.
    void finish() {
        flush();
        task_.changed += own_.changed;
        task_.rescored += own_.rescored;
        if (own_.changed == 0) return;
        for (std::size_t j = 0; j < model_.components; ++j) task_.counts[j] += own_.counts[j];
        for (std::size_t c = 0; c < model_.components * packed_.n_statistics; ++c) task_.sums[c] += own_.sums[c];
    }

private:
    void flush();

    Packed<double> packed_;
    const Model<double>& model_;
    HardTask& task_;
    HardTask own_;  // the same labels, margins and sizes
    Buffer<double> gathered_, block_, counts_, sums_;
    std::unique_ptr<Workspace<double>> work_;
    std::size_t waiting_ = 0;
    double error_bound_ = 0.0;
};

inline void Refiner::flush() {
    if (waiting_ == 0) return;
    own_.rescored += static_cast<std::int64_t>(waiting_ * model_.components);
    label_rows(packed_, model_, gathered_.get(), 0, work_->places, waiting_, error_bound_, *work_, own_);
    waiting_ = 0;
    error_bound_ = 0.0;
}

inline void visit(const Packed<double>& packed, const Model<double>& model, std::size_t b, Workspace<double>& work,
                  HardTask& task) {
    const std::size_t first = b * block_rows<double>, count = std::min(block_rows<double>, packed.rows - first);
    const Fetching next(packed.block(b + 1), packed.columns * block_rows<double>, Best<double>::steps(model));
    label_rows(packed, model, packed.block(b), first, nullptr, count, near_tie(packed, model, b), work, task, next);
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
