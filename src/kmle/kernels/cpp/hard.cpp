// Hard passes over all rows, or over those whose lead may be gone.

#include "labelling.hpp"

#include <memory>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

template <class T>
void hard(const Packed<T>& packed, const Model<T>& model, const Model<double>& precise, HardTask& task) {
    auto work = std::make_unique<Workspace<T>>(packed.order, model.components);
    if constexpr (sizeof(T) == 4) {
        Refiner refiner(packed, precise, task);
        work->refiner = &refiner;
        for (std::size_t b = task.first_block; b < task.last_block; ++b) visit(packed, model, b, *work, task);
        refiner.flush();
    } else {
        for (std::size_t b = task.first_block; b < task.last_block; ++b) visit(packed, model, b, *work, task);
    }
}

// A hard pass over the rows whose lead may be gone, gathered to full blocks; the others keep their labels.
template <class T>
void skipping(const Packed<T>& packed, const Model<T>& model, const Drift& drift, HardTask& task) {
    constexpr std::size_t rows = block_rows<T>;
    auto work = std::make_unique<Workspace<T>>(packed.order, model.components);
    Buffer<T> gathered(packed.columns * rows);
    std::size_t waiting = 0;
    double doubt = 0.0;
    const auto flush = [&] {
        for (std::size_t r = 0; r < waiting; ++r) {
            const T* values = packed.block(work->places[r] / rows) + work->places[r] % rows;
            for (std::size_t a = 0; a < packed.columns; ++a) gathered.get()[a * rows + r] = values[a * rows];
        }
        label_rows(packed, model, gathered.get(), 0, work->places, waiting, doubt, *work, task);
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
            // Its columns lie apart: they are on their way while others are looked for.
            for (std::size_t a = 0; a < packed.columns; ++a) __builtin_prefetch(packed.block(b) + a * rows + (i - first));
            work->places[waiting] = i;
            if (++waiting == rows) flush();
        }
    }
    if (waiting > 0) flush();
}

template void hard(const Packed<double>&, const Model<double>&, const Model<double>&, HardTask&);
template void hard(const Packed<float>&, const Model<float>&, const Model<double>&, HardTask&);
template void skipping(const Packed<double>&, const Model<double>&, const Drift&, HardTask&);
template void skipping(const Packed<float>&, const Model<float>&, const Drift&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
