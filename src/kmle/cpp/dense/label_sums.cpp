// Sums of the statistics of rows by their labels.

#include "dense/lane_sums.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Up to this many sums, those of all components are kept lane by lane in the nearest cache; beyond, rows are added one
// by one to the sums of their component.
constexpr std::size_t few_sums = 256;

// Adds a whole block of rows of one label, as most are where rows lie in the order of their labels.
template <class T>
void add_alike(const Packed<T>& packed, std::size_t first, const double* statistics, std::int32_t label,
               SumsTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    alignas(64) double weights[rows];
    if (packed.weights)
        std::copy_n(packed.weights + first, rows, weights);
    else
        std::fill_n(weights, rows, 1.0);
    for (const double weight : weights) task.counts[label] += weight;
    double* sums = task.sums + static_cast<std::size_t>(label) * packed.n_statistics;
    for (std::size_t f = 0; f < packed.n_statistics; ++f) {
        Vec<double> sum{};
        for (std::size_t r = 0; r < rows; r += lanes<double>)
            sum += load(weights + r) * load(statistics + f * rows + r);
        sums[f] += sum_of_lanes(sum);
    }
}

template <class T>
void label_sums(const Packed<T>& packed, SumsTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    const bool by_lane = task.components == 1 || task.components * (packed.n_statistics + 1) <= few_sums;
    List<std::int32_t> names(by_lane ? task.components : 0);
    for (std::size_t j = 0; j < names.size(); ++j) names[j] = static_cast<std::int32_t>(j);
    LaneSums<T> lanes(packed.n_statistics, names.size());
    lanes.open(names.data(), names.size(), task.counts, task.sums);
    Buffer<double> room(packed.n_statistics * rows);
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * rows, count = std::min(rows, packed.rows - first);
        std::int32_t labels[rows];
        if (task.labels)
            std::copy_n(task.labels + first, count, labels);
        else
            std::fill_n(labels, count, 0);
        std::fill(labels + count, labels + rows, -1);  // rows past the last are in no component
        if (std::all_of(labels, labels + rows, [](std::int32_t label) { return label < 0; })) continue;
        const double* statistics = statistics_of(packed, b, room);
        if (!by_lane && count == rows && std::equal(labels + 1, labels + rows, labels))
            add_alike(packed, first, statistics, labels[0], task);
        else if (by_lane)
            lanes.add(labels, statistics, packed.weights ? packed.weights + first : nullptr, count);
        else
            add_by_row(packed, first, count, statistics, labels, task.counts, task.sums);
    }
    lanes.close(task.counts, task.sums);
}

template void label_sums(const Packed<double>&, SumsTask&);
template void label_sums(const Packed<float>&, SumsTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
