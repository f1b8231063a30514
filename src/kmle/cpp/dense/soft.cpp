// Soft passes (the E step of Dempster, Laird and Rubin 1977): responsibilities, all or the largest few, and their sums.

#include "dense/rescoring.hpp"
#include "dense/responsibilities.hpp"

#include <memory>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Adds rows to the counts and sums, where these are wanted, of their best components, and their best scores, too low by
// `lifts` where there are any, to the log-likelihood.
void add_to_best(const double* scores, const double* statistics, std::size_t components, std::size_t n_statistics,
                 const double* weights, std::size_t count, const double* lifts, LogLikelihood& log_likelihood,
                 double* counts, double* sums) {
    alignas(64) double tops[soft_rows];
    std::int32_t labels[soft_rows];
    find_best(scores, components, labels, tops);
    for (std::size_t r = 0; r < count; ++r) {
        const double weight = weights ? weights[r] : 1.0;
        log_likelihood.add_best(weight, lifts ? tops[r] + lifts[r] : tops[r]);
        if (!counts) continue;
        const std::size_t j = static_cast<std::size_t>(labels[r]);
        counts[j] += weight;
        double* own = sums + j * n_statistics;
        for (std::size_t f = 0; f < n_statistics; ++f) own[f] += weight * statistics[f * soft_rows + r];
    }
}

// Puts what is wanted of the scores of rows from `first` on in its places; scores may be overwritten. They are too low
// by `lifts` where there are any.
void report(double* scores, std::size_t components, std::size_t first, std::size_t count, const double* lifts,
            const RowScores& out) {
    constexpr std::size_t width = lanes<double>;
    const auto transposed = [&](double* table, const auto& value) {
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j < components; ++j)
                table[(first + i) * components + j] = value(scores[j * soft_rows + i], i);
    };
    if (out.scores)
        transposed(out.scores, [&](double score, std::size_t i) { return lifts ? score + lifts[i] : score; });
    alignas(64) double tops[soft_rows], totals[soft_rows];
    for (std::size_t r = 0; r < soft_rows; r += strip * width) {
        Vec<double> top[strip], total[strip]{};
        highest_of(scores + r, components, top);
        for (std::size_t v = 0; v < strip; ++v) store(tops + r + v * width, top[v]);
        for (std::size_t j = 0; (out.log_sums || out.shares) && j < components; ++j) {
            double* place = scores + j * soft_rows + r;
            Vec<double> e[strip];
            IntVec<double> near{};
            for (std::size_t v = 0; v < strip; ++v) {
                e[v] = load(place + v * width) - top[v];
                near |= e[v] > broadcast(negligible);
            }
            if (!out.shares && !any(near)) continue;
            exp_negative(e);
            for (std::size_t v = 0; v < strip; ++v) {
                store(place + v * width, e[v]);
                total[v] += e[v];
            }
        }
        for (std::size_t v = 0; v < strip; ++v) store(totals + r + v * width, total[v]);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const double top = lifts ? tops[i] + lifts[i] : tops[i];
        if (out.tops) out.tops[first + i] = top;
        if (out.log_sums) out.log_sums[first + i] = top + std::log(totals[i]);
        totals[i] = 1.0 / totals[i];
    }
    if (out.shares) transposed(out.shares, [&](double share, std::size_t i) { return share * totals[i]; });
}

// Tiles of `soft_rows` rows, one after the other in memory: of each the statistics and the responsibilities, or scores.
struct Tiles {
    const double *responsibilities, *statistics;
    std::size_t components, features, count;
};

// For a tile of components and statistics: sums[j][f] += sum over rows of responsibility_j * statistic_f, lane by lane.
template <std::size_t components, std::size_t features>
void add_products_of(const Tiles& tiles, std::size_t first_component, std::size_t first_feature, double* all_sums) {
    constexpr std::size_t width = lanes<double>;
    double* sums = all_sums + (first_component * tiles.features + first_feature) * width;
    Vec<double> sum[components][features];
    for (std::size_t j = 0; j < components; ++j)
        for (std::size_t f = 0; f < features; ++f) sum[j][f] = load(sums + (j * tiles.features + f) * width);
    for (std::size_t tile = 0; tile < tiles.count; ++tile) {
        const double* shares = tiles.responsibilities + (tile * tiles.components + first_component) * soft_rows;
        const double* statistics = tiles.statistics + (tile * tiles.features + first_feature) * soft_rows;
        for (std::size_t r = 0; r < soft_rows; r += width) {
#pragma GCC unroll 4
            for (std::size_t j = 0; j < components; ++j) {
                const Vec<double> share = load(shares + j * soft_rows + r);
#pragma GCC unroll 4
                for (std::size_t f = 0; f < features; ++f) sum[j][f] += share * load(statistics + f * soft_rows + r);
            }
        }
    }
    for (std::size_t j = 0; j < components; ++j)
        for (std::size_t f = 0; f < features; ++f) store(sums + (j * tiles.features + f) * width, sum[j][f]);
}

// The same for all of them; the sums [component][statistic][lane] are added across lanes at the end.
void add_products(const Tiles& tiles, double* sums) {
    in_groups(tiles.features, [&](std::size_t f, auto columns) {
        in_groups(tiles.components, [&](std::size_t j, auto rows) {
            add_products_of<decltype(rows)::value, decltype(columns)::value>(tiles, j, f, sums);
        });
    });
}

// Sums are loaded and stored once for this many tiles.
constexpr std::size_t tiles_at_once = 8;

}  // namespace

template <class T>
void soft(const Packed<T>& packed, const Model<double>& model, SoftTask& task) {
    const std::size_t n_statistics = packed.n_statistics, components = model.components;
    const std::size_t features = n_statistics + 1;  // one more statistic, always one, gathers the counts
    const std::size_t mixtures = task.mixtures, each = components / mixtures;
    const bool wanted = task.counts != nullptr, best_only = task.kept == 1 && !task.rows;
    Buffer<double> statistics(tiles_at_once * features * soft_rows), scores(tiles_at_once * components * soft_rows);
    Buffer<double> scratch(components), sums(wanted && !best_only ? components * features * lanes<double> : 0);
    for (std::size_t tile = 0; tile < tiles_at_once; ++tile)
        std::fill_n(statistics.get() + (tile * features + n_statistics) * soft_rows, soft_rows, 1.0);
    Tiles tiles{scores.get(), statistics.get(), components, features, 0};
    List<LogLikelihood> log_likelihood;
    for (std::size_t m = 0; m < mixtures; ++m) log_likelihood.push_back(LogLikelihood());
    const bool by_differences = task.rows && task.rows->centered;
    Rescoring<T> rescoring(packed, model, task.rows ? row_score_error : score_error, by_differences);
    Fetching next;
    const std::size_t start = task.first_block * block_rows<T>,
                      last = std::min(packed.rows, task.last_block * block_rows<T>);
    for (std::size_t first = start; first < last; first += soft_rows) {
        const std::size_t count = std::min(soft_rows, last - first);
        double* t = statistics.get() + tiles.count * features * soft_rows;
        double* s = scores.get() + tiles.count * components * soft_rows;
        const std::size_t block = first / block_rows<T>, place = first % block_rows<T>;
        const T* values = packed.block(block) + place;
        if (place == 0)
            next = Fetching(packed.block(block + 1), packed.columns * block_rows<T>,
                            rounded_up(components, group) / group * (block_rows<T> / (strip * lanes<double>)));
        for (std::size_t a = 0; a < packed.columns; ++a)
            std::copy_n(values + a * block_rows<T>, soft_rows, t + a * soft_rows);
        build_statistics(packed.features, packed.columns, soft_rows, t);
        if ((first - start) % Rescoring<T>::rows_at_once == 0) rescoring.open(first, last);
        if (!rescoring.replaces_all())
            score_rows(t, n_statistics, model.grouped, model.grouped_bias, components, s, next);
        const double* lifts = rescoring.improve(t, s, task.rescored);
        const double* weights = packed.weights ? packed.weights + first : nullptr;
        if (best_only) {
            for (std::size_t m = 0; m < mixtures; ++m)
                add_to_best(s + m * each * soft_rows, t, each, n_statistics, weights, count, lifts, log_likelihood[m],
                            wanted ? task.counts + m * each : nullptr,
                            wanted ? task.sums + m * each * n_statistics : nullptr);
            continue;
        }
        if (task.kept < each)
            for (std::size_t m = 0; m < mixtures; ++m)
                for (std::size_t r = 0; r < count; ++r)
                    keep_largest(s + m * each * soft_rows + r, each, task.kept, scratch.get());
        if (task.rows) {
            report(s, components, first, count, lifts, *task.rows);
            continue;
        }
        if (!wanted) {
            add_log_likelihood(s, components, weights, count, log_likelihood[0], lifts);
            continue;
        }
        for (std::size_t m = 0; m < mixtures; ++m)
            to_responsibilities(s + m * each * soft_rows, each, weights, count, lifts, log_likelihood[m]);
        if (++tiles.count < tiles_at_once && first + soft_rows < last) continue;
        add_products(tiles, sums.get());
        tiles.count = 0;
    }
    for (std::size_t m = 0; m < mixtures; ++m) {
        log_likelihood[m].finish(task);
        if (task.scores) task.scores[m] = task.score;
    }
    if (!wanted || best_only) return;
    for (std::size_t j = 0; j < components; ++j)
        for (std::size_t f = 0; f <= n_statistics; ++f)
            (f < n_statistics ? task.sums[j * n_statistics + f] : task.counts[j]) =
                sum_of_lanes(load(sums.get() + (j * features + f) * lanes<double>));
}

template void soft(const Packed<double>&, const Model<double>&, SoftTask&);
template void soft(const Packed<float>&, const Model<double>&, SoftTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
