// Sums of rows by their labels: row by row, and lane by lane where few components share them.

#pragma once

#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Adds rows of a block, from row `first` of all on, to the counts and sums of their labels, where they have one. Where
// there are many statistics they are taken some at a time, so that what is fetched of them serves every row.
template <class T>
void add_by_row(const Packed<T>& packed, std::size_t first, std::size_t count, const double* statistics,
                const std::int32_t* labels, double* counts, double* sums) {
    constexpr std::size_t rows = block_rows<T>;
    for (std::size_t r = 0; r < count; ++r)
        if (labels[r] >= 0) counts[labels[r]] += packed.weight(first + r);
    for (std::size_t f = 0; f < packed.n_statistics; f += statistics_at_once) {
        const std::size_t size = std::min(statistics_at_once, packed.n_statistics - f);
        for (std::size_t r = 0; r < count; ++r) {
            if (labels[r] < 0) continue;
            const double weight = packed.weight(first + r), *row = statistics + f * rows + r;
            double* own = sums + static_cast<std::size_t>(labels[r]) * packed.n_statistics + f;
            for (std::size_t a = 0; a < size; ++a) own[a] += weight * row[a * rows];
        }
    }
}

// Sums of the rows of few components, lane by lane; lanes are added up only when other components have their turn, as
// neighbouring groups mostly have the same.
template <class T>
class LaneSums {
public:
    // Of at most this many components.
    LaneSums(std::size_t n_statistics, std::size_t most)
        : n_statistics_(n_statistics), names_(most), sums_(most * (n_statistics + 1)), weights_(rows) {}

    // Switches to other components; the sums of the last ones are added to the counts and sums of all.
    void open(const std::int32_t* names, std::size_t count, double* counts, double* sums) {
        if (count == count_ && std::equal(names, names + count, names_.get())) return;
        close(counts, sums);
        std::copy_n(names, count, names_.get());
        count_ = count;
    }

    // Adds the rows of a block by their owners' places among the names.
    void add(const std::int32_t* owners, const double* statistics, const double* weights, std::size_t count) {
        if (weights) std::copy_n(weights, count, weights_.get());
        for (std::size_t c = 0; c < count_; ++c) {
            IntVec<double> own[vectors], owned{};
            for (std::size_t v = 0; v < vectors; ++v) {
                own[v] = widened<double>(owners + v * width) == static_cast<std::int64_t>(c);
                owned |= own[v];
            }
            if (!any(owned)) continue;
            Vec<double>* sums = sums_.get() + c * (n_statistics_ + 1);
            for (std::size_t v = 0; v < vectors; ++v) {
                const Vec<double> weight = weights ? load(weights_.get() + v * width) : broadcast(1.0);
                own_weight_[v] = own[v] ? weight : Vec<double>{};
                sums[0] += own_weight_[v];
            }
            for (std::size_t f = 0; f < n_statistics_; ++f) {
                Vec<double> total{};
                for (std::size_t v = 0; v < vectors; ++v)
                    total += own_weight_[v] * load(statistics + f * rows + v * width);
                sums[f + 1] += total;
            }
        }
    }

    void close(double* all_counts, double* all_sums) {
        for (std::size_t c = 0; c < count_; ++c) {
            const std::size_t owner = static_cast<std::size_t>(names_.get()[c]);
            Vec<double>* sums = sums_.get() + c * (n_statistics_ + 1);
            for (std::size_t f = 0; f <= n_statistics_; ++f) {
                double& to = f == 0 ? all_counts[owner] : all_sums[owner * n_statistics_ + f - 1];
                for (std::size_t lane = 0; lane < width; ++lane) to += sums[f][lane];
                sums[f] = Vec<double>{};
            }
        }
        count_ = 0;
    }

private:
    static constexpr std::size_t rows = block_rows<T>, width = lanes<double>, vectors = rows / width;

    std::size_t n_statistics_, count_ = 0;
    Buffer<std::int32_t> names_;
    Buffer<Vec<double>> sums_;  // [component][1 + statistic]
    Buffer<double> weights_;
    Vec<double> own_weight_[vectors];
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
