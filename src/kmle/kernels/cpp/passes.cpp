// The passes over packed rows, hard and soft. Compiled once for each instruction set: KMLE_INSTRUCTION_SET names it,
// KMLE_VECTOR_BYTES is the width of its registers, and module.cpp chooses among the tables at import.

#include "passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>

#include "simd.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Registers of rows scored together: with a group of four components they fill the registers of the machine.
constexpr std::size_t strip = vector_bytes == 64 ? 4 : 2;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double largest_float = std::numeric_limits<float>::max();

// Memory aligned for the widest vectors.
template <class T>
class Buffer {
public:
    explicit Buffer(std::size_t size)
        : data_(static_cast<T*>(::operator new(std::max<std::size_t>(size, 1) * sizeof(T), std::align_val_t(64)))) {
        std::fill_n(data_, size, T(0));
    }
    ~Buffer() { ::operator delete(data_, std::align_val_t(64)); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* get() { return data_; }

private:
    T* data_;
};

// Statistics of `rows` neighbouring rows, [statistic][row], from columns laid out likewise.
template <class T>
void build_statistics(Features features, std::size_t columns, std::size_t rows, T* statistics) {
    if (features == Features::identity) return;
    T* out = statistics + columns * rows;
    for (std::size_t a = 0; a < columns; ++a) {
        const std::size_t last = features == Features::diagonal ? a + 1 : columns;
        for (std::size_t b = a; b < last; ++b, out += rows)
            for (std::size_t r = 0; r < rows; r += lanes<T>)
                store(out + r, load(statistics + a * rows + r) * load(statistics + b * rows + r));
    }
}

// Scores of one strip of rows with one group of components: the innermost loop of everything.
template <class T>
inline void score(const T* statistics, std::size_t rows, std::size_t order, const T* natural, const T* bias,
                  Vec<T> (&scores)[group][strip]) {
    for (std::size_t j = 0; j < group; ++j)
        for (std::size_t v = 0; v < strip; ++v) scores[j][v] = broadcast(bias[j]);
    for (std::size_t f = 0; f < order; ++f, statistics += rows, natural += group) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < group; ++j) {
            const Vec<T> coefficient = broadcast(natural[j]);
#pragma GCC unroll 4
            for (std::size_t v = 0; v < strip; ++v) scores[j][v] += coefficient * load(statistics + v * lanes<T>);
        }
    }
}

// The best component of every row of a block, its score and the second best score.
template <class T>
struct Best {
    using Integer = typename VectorOf<T>::Integer;
    alignas(64) T score[block_rows<T>], second[block_rows<T>];
    alignas(64) Integer label[block_rows<T>];

    void find(const T* statistics, const Model<T>& model) {
        constexpr std::size_t rows = block_rows<T>;
        for (std::size_t r = 0; r < rows; r += strip * lanes<T>) {
            Vec<T> top[strip], runner_up[strip];
            IntVec<T> winner[strip];
            for (std::size_t v = 0; v < strip; ++v) {
                top[v] = runner_up[v] = broadcast(-std::numeric_limits<T>::infinity());
                winner[v] = IntVec<T>{};
            }
            for (std::size_t j = 0; j < model.padded(); j += group) {
                Vec<T> scores[group][strip];
                kmle::KMLE_INSTRUCTION_SET::score(statistics + r, rows, model.order, model.grouped + j * model.order,
                                                  model.grouped_bias + j, scores);
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
};

// A bound on the rounding error of any score in this block, in the precision of T, both of a pair of scores counted.
template <class T>
double near_tie(const Packed<T>& packed, const Model<T>& model, std::size_t block) {
    const double* largest = packed.largest + block * packed.columns;
    const std::size_t d = packed.columns;
    double magnitude = model.largest_bias;
    for (std::size_t a = 0; a < d; ++a) magnitude += largest[a] * model.largest[a];
    if (packed.features == Features::diagonal)
        for (std::size_t a = 0; a < d; ++a) magnitude += largest[a] * largest[a] * model.largest[d + a];
    if (packed.features == Features::quadratic) {
        const double* coefficient = model.largest + d;
        for (std::size_t a = 0; a < d; ++a)
            for (std::size_t b = a; b < d; ++b) magnitude += largest[a] * largest[b] * *coefficient++;
    }
    return 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(model.order + 4) * magnitude;
}

// What a hard pass needs beside the rows, kept from block to block.
template <class T>
struct Workspace {
    Buffer<T> statistics;
    Buffer<double> one_row;
    Best<T> best;
    std::size_t places[block_rows<T>];

    explicit Workspace(std::size_t order) : statistics(order * block_rows<T>), one_row(order) {}
};

// Labels rows whose columns lie in `values` as a block does, and books those that move. `places` are the rows, `names`
// tells which component each of the model's really is (null: they are all there, in order).
template <class T>
void label_rows(const Packed<T>& packed, const Model<T>& model, const std::int32_t* names, const T* values,
                const std::size_t* places, std::size_t count, double doubt, Workspace<T>& work, HardTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    const std::size_t order = packed.order;
    if (packed.features != Features::identity) {
        if (values != work.statistics.get()) std::copy_n(values, packed.columns * rows, work.statistics.get());
        build_statistics(packed.features, packed.columns, rows, work.statistics.get());
        values = work.statistics.get();
    }
    work.best.find(values, model);
    task.looked_at += static_cast<std::int64_t>(count);
    for (std::size_t r = 0; r < count; ++r) {
        const std::size_t i = places[r];
        const double margin = static_cast<double>(work.best.score[r]) - static_cast<double>(work.best.second[r]);
        std::int32_t label = static_cast<std::int32_t>(work.best.label[r]);
        const bool nearly_tied = !(margin > doubt);  // NaN, from overflow in float, is in doubt too
        // Rounded down, so that what is left of a margin is never more than it was.
        if (task.margins)
            task.margins[i] = nearly_tied ? 0.0f : static_cast<float>(std::min((margin - doubt) * 0.999999, largest_float));
        if (nearly_tied) {
            row_statistics(packed, i, work.one_row.get());
            label = exact_label(work.one_row.get(), model.natural, model.bias, model.components, order);
        }
        if (names) label = names[label];
        const std::int32_t before = task.labels[i];
        if (label == before) continue;
        task.labels[i] = label;
        ++task.changed;
        row_statistics(packed, i, work.one_row.get());
        const double weight = packed.weight(i);
        const auto add = [&](std::int32_t j, double w) {
            task.counts[j] += w;
            double* sum = task.sums + static_cast<std::size_t>(j) * order;
            for (std::size_t f = 0; f < order; ++f) sum[f] += w * work.one_row.get()[f];
        };
        add(label, weight);
        ++task.sizes[label];
        if (before >= 0) {
            add(before, -weight);
            --task.sizes[before];
        }
    }
}

template <class T>
void visit(const Packed<T>& packed, const Model<T>& model, const std::int32_t* names, std::size_t b,
           Workspace<T>& work, HardTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    const std::size_t count = std::min(rows, packed.rows - b * rows);
    for (std::size_t r = 0; r < rows; ++r) work.places[r] = b * rows + r;
    label_rows(packed, model, names, packed.block(b), work.places, count, near_tie(packed, model, b), work, task);
}

template <class T>
void hard(const Packed<T>& packed, const Model<T>& model, HardTask& task) {
    auto work = std::make_unique<Workspace<T>>(packed.order);
    for (std::size_t b = task.first_block; b < task.last_block; ++b) visit(packed, model, nullptr, b, *work, task);
}

// A hard pass over the rows whose lead may be gone, gathered to full blocks; the others keep their labels.
template <class T>
void skipping(const Packed<T>& packed, const Model<T>& model, const Drift& drift, HardTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    auto work = std::make_unique<Workspace<T>>(packed.order);
    Buffer<T> gathered(packed.columns * rows);
    std::size_t waiting = 0;
    double doubt = 0.0;
    const auto flush = [&] {
        label_rows(packed, model, nullptr, gathered.get(), work->places, waiting, doubt, *work, task);
        waiting = 0;
        doubt = 0.0;
    };
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * rows, last = std::min(packed.rows, first + rows);
        double block_doubt = -1.0;
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t label = static_cast<std::size_t>(task.labels[i]);
            float& margin = task.margins[i];
            margin -= drift.table[label * drift.distance_count + drift.distances[i]];
            if (margin > 0.0f) continue;
            if (block_doubt < 0.0) block_doubt = near_tie(packed, model, b);
            doubt = std::max(doubt, block_doubt);
            const T* values = packed.block(b) + (i - first);
            for (std::size_t a = 0; a < packed.columns; ++a) gathered.get()[a * rows + waiting] = values[a * rows];
            work->places[waiting] = i;
            if (++waiting == rows) flush();
        }
    }
    if (waiting > 0) flush();
}

// Of the candidates, those that may win somewhere in a box. Whoever wins at its centre is the one to beat: another
// component stays only if the difference of the two scores, a linear function of t, is positive somewhere in the box.
template <class T>
class Shortlist {
public:
    explicit Shortlist(const Model<T>& model)
        : model_(model), natural_(model.padded() * model.order), bias_(model.padded()),
          grouped_(model.padded() * model.order), grouped_bias_(model.padded()), names_(model.padded()),
          by_statistic_(model.padded() * model.order), candidate_bias_(model.padded()), score_(model.padded()) {}

    // The candidates of a region, laid out so that the loops below run over them.
    void enter(const std::int32_t* candidates, std::size_t count) {
        candidates_ = candidates;
        count_ = count;
        for (std::size_t c = 0; c < count; ++c) {
            const std::size_t j = static_cast<std::size_t>(candidates[c]);
            candidate_bias_.get()[c] = model_.bias[j];
            for (std::size_t f = 0; f < model_.order; ++f)
                by_statistic_.get()[f * count + c] = model_.natural[j * model_.order + f];
        }
    }

    // Those of them that stay in one box.
    void choose(const double* centre, const double* half, double doubt) {
        const std::size_t order = model_.order;
        double* score = score_.get();
        std::copy_n(candidate_bias_.get(), count_, score);
        for (std::size_t f = 0; f < order; ++f) {
            const double* natural = by_statistic_.get() + f * count_;
            const double at = centre[f];
            for (std::size_t c = 0; c < count_; ++c) score[c] += natural[c] * at;
        }
        const std::size_t winner = static_cast<std::size_t>(std::max_element(score, score + count_) - score);
        const double needed = score[winner] - 2 * doubt;
        for (std::size_t f = 0; f < order; ++f) {
            const double* natural = by_statistic_.get() + f * count_;
            const double to_beat = natural[winner], room = half[f];
            for (std::size_t c = 0; c < count_; ++c) score[c] += std::abs(natural[c] - to_beat) * room;
        }
        size_ = 0;
        for (std::size_t c = 0; c < count_; ++c)
            if (!(score[c] < needed)) add(candidates_[c]);
        for (std::size_t s = size_; s < rounded_up(size_, group); ++s) {
            grouped_bias_.get()[s] = -std::numeric_limits<T>::infinity();
            for (std::size_t f = 0; f < order; ++f) grouped_.get()[place(s, f)] = T(0);
        }
    }

    Model<T> model() {
        return {grouped_.get(), grouped_bias_.get(), natural_.get(), bias_.get(), model_.largest, model_.largest_bias,
                size_,          model_.order};
    }
    const std::int32_t* names() { return names_.get(); }

private:
    std::size_t place(std::size_t s, std::size_t f) const {
        return (s / group * model_.order + f) * group + s % group;
    }

    void add(std::int32_t component) {
        const std::size_t j = static_cast<std::size_t>(component), order = model_.order, s = size_++;
        names_.get()[s] = component;
        bias_.get()[s] = model_.bias[j];
        grouped_bias_.get()[s] = static_cast<T>(model_.bias[j]);
        for (std::size_t f = 0; f < order; ++f) {
            natural_.get()[s * order + f] = model_.natural[j * order + f];
            grouped_.get()[place(s, f)] = static_cast<T>(model_.natural[j * order + f]);
        }
    }

    const Model<T>& model_;
    Buffer<double> natural_, bias_;  // of those that stay
    Buffer<T> grouped_, grouped_bias_;
    Buffer<std::int32_t> names_;
    std::size_t size_ = 0;
    Buffer<double> by_statistic_, candidate_bias_, score_;  // of the region's candidates
    const std::int32_t* candidates_ = nullptr;
    std::size_t count_ = 0;
};

// A hard pass that tries, for each group of neighbouring rows, only the components that may win there. The task's
// blocks are regions here.
template <class T>
void pruned(const Packed<T>& packed, const Model<T>& model, const Plan& plan, HardTask& task) {
    auto work = std::make_unique<Workspace<T>>(packed.order);
    Shortlist<T> shortlist(model);
    const std::size_t order = packed.order;
    for (std::size_t region = task.first_block; region < task.last_block; ++region) {
        const std::size_t end = std::min(packed.blocks(), (region + 1) * plan.blocks_a_region);
        shortlist.enter(plan.candidates + plan.starts[region],
                        static_cast<std::size_t>(plan.starts[region + 1] - plan.starts[region]));
        for (std::size_t b = region * plan.blocks_a_region; b < end; b += plan.blocks_a_group) {
            const std::size_t box = b / plan.blocks_a_group, stop = std::min(end, b + plan.blocks_a_group);
            double doubt = 0.0;
            for (std::size_t c = b; c < stop; ++c) doubt = std::max(doubt, near_tie(packed, model, c));
            shortlist.choose(plan.centres + box * order, plan.halves + box * order, doubt);
            const Model<T> few = shortlist.model();
            for (std::size_t c = b; c < stop; ++c) visit(packed, few, shortlist.names(), c, *work, task);
        }
    }
}

// Soft passes work in double on this many rows at a time.
constexpr std::size_t soft_rows = block_rows<double>;

// Keeps the largest `kept` scores of one row (a column of `scores`), lowest indices first among equals.
void keep_largest(double* scores, std::size_t components, std::size_t kept, double* scratch) {
    for (std::size_t j = 0; j < components; ++j) scratch[j] = scores[j * soft_rows];
    std::nth_element(scratch, scratch + kept - 1, scratch + components, [](double a, double b) { return a > b; });
    const double least = scratch[kept - 1];
    std::size_t above = 0;
    for (std::size_t j = 0; j < components; ++j) above += scores[j * soft_rows] > least;
    for (std::size_t j = 0; j < components; ++j) {
        double& score = scores[j * soft_rows];
        if (score > least) continue;
        if (score == least && above < kept)
            ++above;
        else
            score = minus_infinity;
    }
}

// Turns the scores of `soft_rows` rows into responsibilities times weights; returns the weighted sum of log evidence.
double to_responsibilities(double* scores, std::size_t padded, const double* weights, std::size_t count) {
    alignas(64) double top[soft_rows], total[soft_rows], factor[soft_rows];
    for (std::size_t r = 0; r < soft_rows; r += lanes<double>) {
        Vec<double> highest = load(scores + r);
        for (std::size_t j = 1; j < padded; ++j) {
            const Vec<double> s = load(scores + j * soft_rows + r);
            highest = s > highest ? s : highest;
        }
        Vec<double> sum{};
        for (std::size_t j = 0; j < padded; ++j) {
            const Vec<double> e = exp_negative(load(scores + j * soft_rows + r) - highest);
            store(scores + j * soft_rows + r, e);
            sum += e;
        }
        store(top + r, highest);
        store(total + r, sum);
    }
    double evidence = 0.0;
    if (weights) {
        for (std::size_t r = 0; r < count; ++r) evidence += weights[r] * (top[r] + std::log(total[r]));
    } else {
        // The totals lie between one and the number of components: their product is far from overflow.
        double product = 1.0;
        for (std::size_t r = 0; r < count; ++r) {
            evidence += top[r];
            product *= total[r];
            if (product > 1e250) {
                evidence += std::log(product);
                product = 1.0;
            }
        }
        evidence += std::log(product);
    }
    for (std::size_t r = 0; r < soft_rows; ++r)
        factor[r] = r < count ? (weights ? weights[r] : 1.0) / total[r] : 0.0;
    for (std::size_t j = 0; j < padded; ++j)
        for (std::size_t r = 0; r < soft_rows; r += lanes<double>)
            store(scores + j * soft_rows + r, load(scores + j * soft_rows + r) * load(factor + r));
    return evidence;
}

// sums[j][f] += sum over rows of responsibility_j * statistic_f, lane by lane; added across lanes at the end.
void add_products(const double* responsibilities, const double* statistics, std::size_t padded, std::size_t features,
                  double* sums) {
    constexpr std::size_t width = lanes<double>;
    for (std::size_t j = 0; j < padded; j += group)
        for (std::size_t f = 0; f < features; f += group) {
            Vec<double> sum[group][group];
            for (std::size_t a = 0; a < group; ++a)
                for (std::size_t b = 0; b < group; ++b) sum[a][b] = load(sums + ((j + a) * features + f + b) * width);
            for (std::size_t r = 0; r < soft_rows; r += width) {
#pragma GCC unroll 4
                for (std::size_t a = 0; a < group; ++a) {
                    const Vec<double> share = load(responsibilities + (j + a) * soft_rows + r);
#pragma GCC unroll 4
                    for (std::size_t b = 0; b < group; ++b)
                        sum[a][b] += share * load(statistics + (f + b) * soft_rows + r);
                }
            }
            for (std::size_t a = 0; a < group; ++a)
                for (std::size_t b = 0; b < group; ++b) store(sums + ((j + a) * features + f + b) * width, sum[a][b]);
        }
}

template <class T>
void soft(const Packed<T>& packed, const Model<double>& model, SoftTask& task) {
    const std::size_t order = packed.order, padded = model.padded();
    // One more statistic, always one, gathers the counts.
    const std::size_t features = rounded_up(order + 1, group);
    Buffer<double> statistics(features * soft_rows), scores(padded * soft_rows), scratch(model.components);
    Buffer<double> sums(padded * features * lanes<double>);
    std::fill_n(statistics.get() + order * soft_rows, soft_rows, 1.0);
    task.score = 0.0;
    for (std::size_t b = task.first_block; b < task.last_block; ++b)
        for (std::size_t part = 0; part < block_rows<T>; part += soft_rows) {
            const std::size_t first = b * block_rows<T> + part;
            if (first >= packed.rows) break;
            const std::size_t count = std::min(soft_rows, packed.rows - first);
            for (std::size_t a = 0; a < packed.columns; ++a)
                std::copy_n(packed.block(b) + a * block_rows<T> + part, soft_rows, statistics.get() + a * soft_rows);
            build_statistics(packed.features, packed.columns, soft_rows, statistics.get());
            for (std::size_t r = 0; r < soft_rows; r += strip * lanes<double>)
                for (std::size_t j = 0; j < padded; j += group) {
                    Vec<double> block_scores[group][strip];
                    score(statistics.get() + r, soft_rows, order, model.grouped + j * order, model.grouped_bias + j,
                          block_scores);
                    for (std::size_t g = 0; g < group; ++g)
                        for (std::size_t v = 0; v < strip; ++v)
                            store(scores.get() + (j + g) * soft_rows + r + v * lanes<double>, block_scores[g][v]);
                }
            if (task.kept < model.components)
                for (std::size_t r = 0; r < count; ++r)
                    keep_largest(scores.get() + r, model.components, task.kept, scratch.get());
            const double* weights = packed.weights ? packed.weights + first : nullptr;
            task.score += to_responsibilities(scores.get(), padded, weights, count);
            add_products(scores.get(), statistics.get(), padded, features, sums.get());
        }
    for (std::size_t j = 0; j < model.components; ++j)
        for (std::size_t f = 0; f <= order; ++f) {
            double total = 0.0;
            for (std::size_t lane = 0; lane < lanes<double>; ++lane)
                total += sums.get()[(j * features + f) * lanes<double> + lane];
            (f < order ? task.sums[j * order + f] : task.counts[j]) = total;
        }
}

}  // namespace

extern const Passes table;
const Passes table = {KMLE_INSTRUCTION_SET_NAME, &hard<double>,   &hard<float>, &pruned<double>,
                      &pruned<float>,            &skipping<double>, &skipping<float>, &soft<double>, &soft<float>};

}  // namespace KMLE_INSTRUCTION_SET

const Passes& KMLE_TABLE_FUNCTION() { return KMLE_INSTRUCTION_SET::table; }

}  // namespace kmle
