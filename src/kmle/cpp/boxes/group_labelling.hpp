// Labels of the rows of a group among few candidates.

#pragma once

#include <cmath>

#include "boxes/candidates.hpp"
#include "dense/labelling.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Rows of a group: one block in single precision.
constexpr std::size_t group_rows = block_rows<float>;

// Rows are scored in single precision, by their places in the box of the group. Few are uncertain after that,
// unless the scores of a candidate are of another size than those of the others: then double precision comes next.
template <class T>
class GroupLabelling {
public:
    GroupLabelling(const Packed<T>& packed, const Model<double>& model)
        : packed_(packed), model_(model), work_(packed.n_statistics, most_scores(packed, model)),
          precise_(packed.n_statistics, most_scores(packed, model)), largest_(packed.columns) {}

    // A bound on the rounding in double precision of the scores of rows in a box.
    double near_tie_in(const Box& box) {
        const Packed<double> shape = {
            nullptr, nullptr, nullptr, packed_.rows, packed_.columns, packed_.n_statistics, packed_.features};
        for (std::size_t a = 0; a < packed_.columns; ++a) largest_[a] = std::abs(box.center[a]) + box.half[a];
        return near_tie(shape, model_, largest_.data());
    }

    // The best candidate of each row, by its place in the list; -1 past the last row. `error_bound` is that of scores
    // in single precision.
    const std::int32_t* label(const Candidates<float>& candidates, std::size_t first, std::size_t count,
                              double error_bound) {
        measure(candidates.box, first, count);
        Best<float>& best = work_.best;
        best.find(work_.statistics.get(), as_model(candidates), work_.scores.get());
        if (best.any_within(in_precision<float>(error_bound))) {
            std::size_t places[group_rows], unsure = 0;
            for (std::size_t r = 0; r < count; ++r) {
                const double margin = static_cast<double>(best.score[r]) - static_cast<double>(best.second[r]);
                if (!(margin > error_bound)) places[unsure++] = r;  // NaN is uncertain too
            }
            if (unsure > 0) decide(candidates, first, places, unsure);
        }
        std::fill(best.label + count, best.label + group_rows, -1);
        return best.label;
    }

private:
    static constexpr std::size_t rows = block_rows<T>;
    static constexpr std::size_t few_unsure = 4;  // not worth a model in double precision

    static std::size_t most_scores(const Packed<T>& packed, const Model<double>& model) {
        return packed.n_statistics > statistics_at_once ? model.components : 0;
    }

    // The places of rows in a box, and their statistics.
    void measure(const Box& box, std::size_t first, std::size_t count) {
        float* places = work_.statistics.get();
        if (count < group_rows) std::fill_n(places, packed_.columns * group_rows, 0.0f);
        for (std::size_t start = 0; start < count; start += rows)
            for (std::size_t a = 0; a < packed_.columns; ++a) {
                const T* values = packed_.block((first + start) / rows) + a * rows;
                const double center = box.center[a], inverse = box.half[a] > 0 ? 1 / box.half[a] : 0.0;
                float* place = places + a * group_rows + start;
                for (std::size_t r = 0; r < rows; ++r)
                    place[r] = static_cast<float>((static_cast<double>(values[r]) - center) * inverse);
            }
        build_statistics(packed_.features, packed_.columns, group_rows, places);
    }

    // Candidates as a model of their own, as scores need it.
    Model<float> as_model(const Candidates<float>& candidates) {
        const std::size_t n_statistics = packed_.n_statistics, padded = rounded_up(candidates.count, group);
        if (grouped_.size() < padded * n_statistics) grouped_.resize(padded * n_statistics);
        for (std::size_t s = 0; s < padded; s += group)
            for (std::size_t f = 0; f < n_statistics; ++f)
                std::copy_n(candidates.coefficients(f) + s, group, grouped_.data() + s * n_statistics + f * group);
        return {grouped_.data(), candidates.margin(), nullptr, nullptr, nullptr, 0.0, candidates.count, n_statistics};
    }

    // The same with the components as they are, in double precision.
    Model<double> as_precise_model(const Candidates<float>& candidates) {
        const std::size_t n_statistics = packed_.n_statistics, count = candidates.count,
                          padded = rounded_up(count, group);
        natural_.resize(count * n_statistics);
        bias_.assign(padded, -std::numeric_limits<double>::infinity());
        precise_grouped_.assign(padded * n_statistics, 0.0);
        for (std::size_t s = 0; s < count; ++s) {
            const std::size_t j = static_cast<std::size_t>(candidates.names()[s]);
            bias_[s] = model_.bias[j];
            for (std::size_t f = 0; f < n_statistics; ++f)
                precise_grouped_[(s / group * n_statistics + f) * group + s % group] = natural_[s * n_statistics + f] =
                    model_.natural[j * n_statistics + f];
        }
        return {
            precise_grouped_.data(), bias_.data(), natural_.data(), bias_.data(), nullptr, 0.0, count, n_statistics};
    }

    // Labels rows that single precision leaves uncertain, by their places in the group: in double precision, and
    // exactly where that leaves them uncertain too.
    void decide(const Candidates<float>& candidates, std::size_t first, const std::size_t* places, std::size_t count) {
        const Model<double> model = as_precise_model(candidates);
        const double error_bound = near_tie_in(candidates.box);
        Best<double>& best = precise_.best;
        double* statistics = precise_.statistics.get();
        for (std::size_t start = 0; start < count; start += block_rows<double>) {
            const std::size_t size = std::min(block_rows<double>, count - start);
            if (count > few_unsure) {
                for (std::size_t r = 0; r < size; ++r) {
                    const std::size_t i = first + places[start + r];
                    const T* values = packed_.block(i / rows) + i % rows;
                    for (std::size_t a = 0; a < packed_.columns; ++a)
                        statistics[a * block_rows<double> + r] = values[a * rows];
                }
                build_statistics(packed_.features, packed_.columns, block_rows<double>, statistics);
                best.find(statistics, model, precise_.scores.get());
            }
            for (std::size_t r = 0; r < size; ++r) {
                const std::size_t place = places[start + r];
                if (count > few_unsure && best.score[r] - best.second[r] > error_bound) {
                    work_.best.label[place] = static_cast<std::int32_t>(best.label[r]);
                    continue;
                }
                row_statistics(packed_, first + place, precise_.one_row.get());
                work_.best.label[place] = exact_label(precise_.one_row.get(), model.natural, model.bias,
                                                      model.components, model.n_statistics);
            }
        }
    }

    const Packed<T>& packed_;
    const Model<double>& model_;
    Workspace<float> work_;
    Workspace<double> precise_;
    List<float> grouped_;
    List<double> largest_, natural_, bias_, precise_grouped_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
