// Packed rows, and how passes over them are cut into tasks.
//
// The number of tasks depends on the sizes alone, and their results are added in order: nothing depends on the threads.

#pragma once

#include <atomic>
#include <utility>

#include "bindings/totals.hpp"
#include "core/chosen.hpp"
#include "core/packing.hpp"
#include "dense/centered_form.hpp"

namespace kmle {

// Partial results of all tasks together stay below this.
constexpr std::size_t partial_bytes = 64 << 20;
constexpr std::size_t most_tasks = 64, fewest_rows_per_task = 2048;

// The number of tasks that leaves room for `cells` partial results each.
inline std::size_t affordable_tasks(std::size_t cells) {
    return std::max<std::size_t>(2, partial_bytes / (sizeof(double) * cells));
}

template <class T>
class PackedRows : public Packing<T> {
public:
    using Packing<T>::Packing;
    using Packing<T>::blocks;
    using Packing<T>::columns;
    using Packing<T>::n_statistics;
    using Packing<T>::rows;
    using Packing<T>::threads;
    using Packing<T>::view;

    // How many scores all hard and soft passes have computed, and how many of them once more in better precision.
    std::pair<std::int64_t, std::int64_t> work() const { return {scored_, rescored_}; }
    void count_work(std::size_t scored, std::int64_t rescored) {
        scored_ += static_cast<std::int64_t>(scored);
        rescored_ += rescored;
    }

    void require_fit(const Natural& natural, const Bias& bias, const CenteredForm* centered = nullptr) const {
        require_components(natural, bias, n_statistics());
        if (centered) centered->require_fit(natural.shape(0), columns());
    }

    // Numbers that a component has in partial results: its count and its sums.
    std::size_t cells(std::size_t components) const { return components * (n_statistics() + 1); }

    // Edges of the tasks, in blocks and multiples of `step`: as many as memory for `cells` partial results each allows,
    // of `fewest` rows at least.
    std::vector<std::size_t> tasks(std::size_t cells, std::size_t step = 1,
                                   std::size_t fewest = fewest_rows_per_task) const {
        const std::size_t worthwhile = std::max<std::size_t>(1, rows() / fewest);
        const std::size_t steps = rounded_up(blocks(), step) / step;
        const std::size_t count =
            std::min({most_tasks, affordable_tasks(cells), worthwhile, std::max<std::size_t>(steps, 1)});
        std::vector<std::size_t> edges;
        for (std::size_t t = 0; t <= count; ++t) edges.push_back(std::min(blocks(), steps * t / count * step));
        return edges;
    }

    // Runs the tasks of a hard pass, work(task), and adds what moves to the clusters; returns how many labels changed.
    template <class Work>
    std::int64_t move_rows(const std::vector<std::size_t>& edges, const given::Clusters& clusters, float* margins,
                           const Work& work) const {
        const std::size_t count = edges.size() - 1, components = clusters.totals.components(), size = cells(components);
        std::vector<double> partial(count * size, 0.0);
        std::vector<std::int64_t> partial_sizes(count * components, 0);
        std::vector<HardTask> tasks(count);
        Pool::run(count, threads(), [&](std::size_t t) {
            double* own = partial.data() + t * size;
            std::int64_t* own_sizes = partial_sizes.data() + t * components;
            tasks[t] = {edges[t],
                        edges[t + 1],
                        clusters.labels.data(),
                        false,
                        margins,
                        own,
                        own + components,
                        own_sizes,
                        0,
                        0,
                        0,
                        0};
            work(tasks[t]);
        });
        std::int64_t changed = 0;
        for (const HardTask& task : tasks) {
            changed += task.changed;
            for (std::size_t j = 0; j < components; ++j) clusters.sizes.data()[j] += task.sizes[j];
            clusters.totals.add(task.counts, task.sums);
        }
        return changed;
    }

private:
    std::atomic<std::int64_t> scored_{0}, rescored_{0};
};

// The weighted sums of the log-likelihood and of the entropies that some tasks have found.
inline std::pair<double, double> total_log_likelihood(const std::vector<SoftTask>& tasks) {
    double score = 0.0, entropy = 0.0;
    for (const SoftTask& task : tasks) {
        score += task.score;
        entropy += task.entropy;
    }
    return {score, entropy};
}

}  // namespace kmle
