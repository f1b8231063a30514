// Hard passes over all rows: the assignment step of Lloyd 1982, for Bregman divergences Banerjee et al. 2005.

#include "dense/inflated.hpp"
#include "dense/labelling.hpp"

#include <memory>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// From this many products per row on, single precision saves more than its rounding costs.
constexpr std::size_t worth_screening = 128;

// A hard pass that scores rows in single precision, in half the time; rows that are uncertain after that are gathered
// and scored again in double precision. Where those are many, all are.
template <class T>
class Screening {
public:
    Screening(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise, HardTask& task)
        : packed_(packed), in_double_{nullptr,        packed.largest,      packed.weights, packed.rows,
                                      packed.columns, packed.n_statistics, packed.features},
          precise_(precise), task_(task), inflated_(single, precise.centered), largest_(packed.columns),
          work_(packed.n_statistics, single.components), booking_(packed.n_statistics, single.components),
          refiner_(packed, precise, task) {}

    void run() {
        for (std::size_t b = task_.first_block; b < task_.last_block; b += blocks_at_once) {
            const std::size_t end = std::min(b + blocks_at_once, task_.last_block);
            const bool pays = refined_ <= few_refined + seen_ / 4;
            if (pays && raise(b, end))
                for (std::size_t c = b; c < end; c += blocks) screen(c, std::min(c + blocks, end));
            else if (precise_.centered)
                refine_blocks(b * rows, std::min(end * rows, packed_.rows));
            else
                for (std::size_t i = b * rows; i < std::min(end * rows, packed_.rows); ++i) refine(i);
        }
        refiner_.finish();
    }

private:
    static constexpr std::size_t wide = block_rows<float>, rows = block_rows<T>, blocks = wide / rows;
    static_assert(blocks == 1 || blocks == 2);
    static constexpr std::size_t few_refined = 1024;
    // Blocks whose scores share error bounds: with fewer rows the bounds are tighter, but take longer to compute.
    static constexpr std::size_t blocks_at_once = 512 / rows;

    // Inflates the biases for the rows of some blocks.
    bool raise(std::size_t b, std::size_t end) {
        const std::size_t columns = packed_.columns;
        std::copy_n(packed_.largest + b * columns, columns, largest_.get());
        for (std::size_t c = b + 1; c < end; ++c)
            for (std::size_t a = 0; a < columns; ++a)
                largest_.get()[a] = std::max(largest_.get()[a], packed_.largest[c * columns + a]);
        return inflated_.open(packed_.features, columns, largest_.get());
    }

    // Statistics of the rows of some blocks in single precision.
    const float* statistics(std::size_t b, std::size_t end) {
        if constexpr (blocks == 1)
            if (packed_.features == Features::identity) return packed_.block(b);
        float* out = work_.statistics.get();
        for (std::size_t a = 0; a < packed_.columns; ++a)
            for (std::size_t c = b; c < b + blocks; ++c) {
                float* column = out + a * wide + (c - b) * rows;
                if (c < end)
                    std::copy_n(packed_.block(c) + a * rows, rows, column);
                else
                    std::fill_n(column, rows, 0.0f);
            }
        build_statistics(packed_.features, packed_.columns, wide, out);
        return out;
    }

    void screen(std::size_t b, std::size_t end) {
        fetch_ahead(b, end);
        const std::size_t first = b * rows, count = std::min(end * rows, packed_.rows) - first;
        const Model<float>& model = inflated_.model();
        const Fetching next(packed_.block(b + blocks), packed_.columns * wide, Best<float>::steps(model));
        work_.best.find(statistics(b, end), model, work_.scores.get(), next);
        seen_ += count;
        // Whole blocks, as nearly all are, are compared with their labels at once.
        const bool at_once = count == wide;
        if (at_once && task_.margins) work_.best.margins(task_.margins + first);
        const std::int32_t* before = task_.fresh ? nullptr : task_.labels + first;
        if (at_once && task_.fresh) work_.best.write(task_.labels + first);
        if (at_once && (!work_.best.mark_undecided(before, inflated_.largest_error_bound()) ||
                        !work_.best.mark_undecided(before, inflated_.error_bounds())))
            return;
        std::uint64_t open = at_once ? work_.best.open_rows() : ~std::uint64_t{0} >> (wide - count);
        for (std::size_t c = b; c < end; ++c) {
            const std::size_t past = (c + 1 - b) * rows;
            for (; open; open &= open - 1) {
                const std::size_t place = static_cast<std::size_t>(__builtin_ctzll(open));
                if (place >= past) break;
                decide(c, place - (c - b) * rows, place);
            }
            if (booking_.move_count == 0) continue;
            task_.changed += static_cast<std::int64_t>(booking_.move_count);
            book(packed_, packed_.block(c), booking_, task_);
        }
    }

    // The share of some blocks in what is needed after the pass.
    void fetch_ahead(std::size_t b, std::size_t end) const {
        if (!task_.ahead) return;
        const std::size_t count = task_.last_block - task_.first_block, from = b - task_.first_block;
        const char* last = task_.ahead + task_.ahead_bytes * (end - task_.first_block) / count;
        for (const char* next = task_.ahead + task_.ahead_bytes * from / count; next < last; next += 64)
            __builtin_prefetch(next, 0, 2);
    }

    // Row r of block c, whose scores are at `place`.
    void decide(std::size_t c, std::size_t r, std::size_t place) {
        const std::size_t i = c * rows + r;
        const std::int32_t label = work_.best.label[place], before = task_.labels[i];
        const float margin = work_.best.score[place] - work_.best.second[place];
        if (!(margin > inflated_.error_bounds()[label])) return refine(i);  // NaN is uncertain too
        if (task_.margins) task_.margins[i] = std::min(margin, static_cast<float>(largest_float));
        if (label == before) return;
        task_.labels[i] = label;
        if (!task_.fresh) booking_.moves[booking_.move_count++] = {r, before, label, packed_.weight(i)};
    }

    // Whole blocks of rows, where they lie.
    void refine_blocks(std::size_t first, std::size_t last) {
        constexpr std::size_t step = block_rows<double>;
        for (std::size_t i = first; i < last; i += step)
            refiner_.add_block(i, std::min(step, last - i), packed_.block(i / rows) + i % rows);
        refined_ += last - first;
    }

    void refine(std::size_t i) {
        ++refined_;
        const std::size_t b = i / rows;
        const double error_bound =
            precise_.centered ? 0.0 : near_tie(in_double_, precise_, packed_.largest + b * packed_.columns);
        refiner_.add(i, packed_.block(b) + i % rows, rows, error_bound);
    }

    const Packed<T>& packed_;
    Packed<double> in_double_;  // the same but for the values
    const Model<double>& precise_;
    HardTask& task_;
    Inflated inflated_;
    Buffer<double> largest_;
    Workspace<float> work_;
    Workspace<T> booking_;
    Refiner refiner_;
    std::size_t seen_ = 0, refined_ = 0;
};

}  // namespace

template <class T>
void hard(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise, HardTask& task) {
    if constexpr (sizeof(T) == 8)
        if (!precise.centered && packed.n_statistics * precise.components < worth_screening) {
            auto work = std::make_unique<Workspace<T>>(packed.n_statistics, precise.components);
            for (std::size_t b = task.first_block; b < task.last_block; ++b) visit(packed, precise, b, *work, task);
            return;
        }
    std::make_unique<Screening<T>>(packed, single, precise, task)->run();
}

template void hard(const Packed<double>&, const Model<float>&, const Model<double>&, HardTask&);
template void hard(const Packed<float>&, const Model<float>&, const Model<double>&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
