// Soft passes: responsibilities of all components, or of the largest few, and what they add up to.

#include "evidence.hpp"

#include <memory>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

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

// Turns the scores of `soft_rows` rows into responsibilities times weights.
void to_responsibilities(double* scores, std::size_t components, const double* weights, std::size_t count,
                         Evidence& evidence) {
    constexpr std::size_t width = lanes<double>;
    const bool whole = !weights && count == soft_rows;
    for (std::size_t r = 0; r < soft_rows; r += width) {
        const Vec<double> top = highest_of(scores + r, components);
        Vec<double> total{}, weight = broadcast(1.0);
        for (std::size_t j = 0; j < components; ++j) {
            double* place = scores + j * soft_rows + r;
            const Vec<double> e = exp_negative(load(place) - top);
            store(place, e);
            total += e;
        }
        if (whole)
            evidence.add(top, total);
        else
            for (std::size_t lane = 0; lane < width; ++lane) {
                weight[lane] = r + lane >= count ? 0.0 : weights ? weights[r + lane] : 1.0;
                if (r + lane < count) evidence.add_row(weight[lane], top[lane], total[lane]);
            }
        const Vec<double> factor = weight / total;
        for (std::size_t j = 0; j < components; ++j) {
            double* place = scores + j * soft_rows + r;
            store(place, load(place) * factor);
        }
    }
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

}  // namespace

template <class T>
void soft(const Packed<T>& packed, const Model<double>& model, SoftTask& task) {
    const std::size_t order = packed.order, padded = model.padded();
    // One more statistic, always one, gathers the counts.
    const std::size_t features = rounded_up(order + 1, group);
    const bool wanted = task.counts != nullptr;
    Buffer<double> statistics(features * soft_rows), scores(padded * soft_rows), scratch(model.components);
    Buffer<double> sums(wanted ? padded * features * lanes<double> : 0);
    std::fill_n(statistics.get() + order * soft_rows, soft_rows, 1.0);
    Evidence evidence;
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
            if (!wanted) {
                add_evidence(scores.get(), model.components, weights, count, evidence);
                continue;
            }
            to_responsibilities(scores.get(), model.components, weights, count, evidence);
            // What fills up the last group has no share in any row.
            std::fill_n(scores.get() + model.components * soft_rows, (padded - model.components) * soft_rows, 0.0);
            add_products(scores.get(), statistics.get(), padded, features, sums.get());
        }
    evidence.finish(task);
    if (!wanted) return;
    for (std::size_t j = 0; j < model.components; ++j)
        for (std::size_t f = 0; f <= order; ++f)
            (f < order ? task.sums[j * order + f] : task.counts[j]) =
                sum_of_lanes(load(sums.get() + (j * features + f) * lanes<double>));
}

template void soft(const Packed<double>&, const Model<double>&, SoftTask&);
template void soft(const Packed<float>&, const Model<double>&, SoftTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
