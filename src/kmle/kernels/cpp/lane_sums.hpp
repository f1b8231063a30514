// Sums of rows by their labels, where few components share them.

#pragma once

#include "tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Sums of the rows of few components, lane by lane; lanes are added up only when other components have their turn, as
// neighbouring groups mostly have the same.
template <class T>
class LaneSums {
public:
    static constexpr std::size_t most = 6;

    explicit LaneSums(std::size_t order) : order_(order), sums_(most * (order + 1)), weights_(rows) {}

    void open(const std::int32_t* names, std::size_t count, PrunedTask& task) {
        if (count == count_ && std::equal(names, names + count, names_)) return;
        close(task);
        std::copy_n(names, count, names_);
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
            Vec<double>* sums = sums_.get() + c * (order_ + 1);
            for (std::size_t v = 0; v < vectors; ++v) {
                const Vec<double> weight = weights ? load(weights_.get() + v * width) : broadcast(1.0);
                own_weight_[v] = own[v] ? weight : Vec<double>{};
                sums[0] += own_weight_[v];
            }
            for (std::size_t f = 0; f < order_; ++f) {
                Vec<double> total{};
                for (std::size_t v = 0; v < vectors; ++v) total += own_weight_[v] * load(statistics + f * rows + v * width);
                sums[f + 1] += total;
            }
        }
    }

    void close(PrunedTask& task) {
        for (std::size_t c = 0; c < count_; ++c) {
            const std::size_t owner = static_cast<std::size_t>(names_[c]);
            Vec<double>* sums = sums_.get() + c * (order_ + 1);
            for (std::size_t f = 0; f <= order_; ++f) {
                double& to = f == 0 ? task.counts[owner] : task.sums[owner * order_ + f - 1];
                for (std::size_t lane = 0; lane < width; ++lane) to += sums[f][lane];
                sums[f] = Vec<double>{};
            }
        }
        count_ = 0;
    }

private:
    static constexpr std::size_t rows = block_rows<T>, width = lanes<double>, vectors = rows / width;

    std::size_t order_, count_ = 0;
    std::int32_t names_[most];
    Buffer<Vec<double>> sums_;  // [component][1 + statistic]
    Buffer<double> weights_;
    Vec<double> own_weight_[vectors];
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
