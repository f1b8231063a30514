// Hard passes that prune components for spans of neighbouring rows (filtering with k-d trees: Kanungo et al. 2002,
// Pelleg and Moore 1999). Where one component is left, the rows are not examined: what they add up to is known.

#include <cmath>
#include <memory>

#include "boxes/group_labelling.hpp"
#include "boxes/pruning.hpp"
#include "dense/lane_sums.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// With fewer candidates than this, the rows are scored at once.
constexpr std::size_t few_candidates = 8;
// Up to this many components are summed lane by lane.
constexpr std::size_t most_by_lane = 6;

template <class T>
class Descent {
public:
    Descent(const Packed<T>& packed, const Model<double>& model, const Tree& tree, BoxesTask& task)
        : packed_(packed), model_(model), tree_(tree), task_(task), pruning_(packed.features, packed.columns),
          labelling_(packed, model), zeros_(packed.columns, 0.0), ones_(packed.columns, 1.0), all_(packed.n_statistics),
          place_(packed.columns), statistics_(packed.n_statistics), places_(Pruning::some_places * packed.n_statistics),
          block_statistics_(packed.n_statistics * rows), lanes_(packed.n_statistics, most_by_lane) {
        for (std::size_t depth = 0; depth < tree.depth; ++depth) lists_.emplace_back(packed.n_statistics);
        if (!tree.starts) take(0, model.components, [](std::size_t c) { return c; });
    }

    void run() {
        for (std::size_t span = task_.first; span < task_.last; ++span) {
            if (tree_.starts)
                take(static_cast<std::size_t>(tree_.starts[span]), static_cast<std::size_t>(tree_.starts[span + 1]),
                     [&](std::size_t c) { return static_cast<std::size_t>(tree_.candidates[c]); });
            descend(0, span);
        }
        lanes_.close(task_.counts, task_.sums);
    }

private:
    static constexpr std::size_t rows = block_rows<T>;

    // Starts from the active components; where there are none, the first has all rows.
    template <class Name>
    void take(std::size_t first, std::size_t last, const Name& name) {
        const auto add = [&](std::size_t j) {
            all_.add(static_cast<std::int32_t>(j), model_.bias[j], model_.natural + j * model_.n_statistics);
        };
        all_.open({zeros_.data(), ones_.data()}, std::max<std::size_t>(1, last - first));
        for (std::size_t c = first; c < last; ++c)
            if (std::isfinite(model_.bias[name(c)])) add(name(c));
        if (all_.count == 0) add(0);
        all_.close();
    }

    void descend(std::size_t depth, std::size_t span) {
        const Level& level = tree_.levels[depth];
        const Box box = {level.centers + span * packed_.columns, level.halves + span * packed_.columns};
        Candidates<float>& left = lists_[depth];
        if (depth > 0) {
            pruning_.prune(lists_[depth - 1], box, left);
        } else {
            // The rounding of scores of rows, and three times as much for what is computed here.
            all_.error_bound = 4 * labelling_.near_tie_in(box);
            pruning_.prune(all_, box, left);
        }
        if (left.count > few_candidates) {
            choose_places(box, depth, span);
            pruning_.prune_further(left, places_.data());
        }
        if (left.count == 1)
            give(level, span, left.names()[0]);
        else if (depth + 1 == tree_.depth)
            measure_at(span, left);
        else {
            const Range inside = parts(depth, span);
            for (std::size_t s = inside.first; s < inside.last; ++s) descend(depth + 1, s);
        }
    }

    struct Range {
        std::size_t first, last;
    };

    // The spans of the next finer level inside one.
    Range parts(std::size_t depth, std::size_t span) const {
        const std::size_t each = tree_.levels[depth + 1].blocks_each, count = tree_.levels[depth].blocks_each / each;
        return {span * count, std::min(rounded_up(packed_.blocks(), each) / each, (span + 1) * count)};
    }

    // Places in a box whose best components are rivals: the centers of the spans inside it, or some rows of a group.
    void choose_places(const Box& box, std::size_t depth, std::size_t span) {
        const bool finest = depth + 1 == tree_.depth;
        const Range inside = finest ? Range{0, 0} : parts(depth, span);
        for (std::size_t p = 0; p < Pruning::some_places; ++p) {
            if (finest) {
                const std::size_t i = span * group_rows + (2 * p + 1) * rows_of(span) / (2 * Pruning::some_places);
                place_in(box, packed_.block(i / rows) + i % rows, rows);
            } else {
                const std::size_t s = std::min(inside.last - 1, inside.first + p);
                place_in(box, tree_.levels[depth + 1].centers + s * packed_.columns, 1);
            }
            std::copy_n(statistics_.data(), packed_.n_statistics, places_.data() + p * packed_.n_statistics);
        }
    }

    // Statistics of a place in a box; columns lie `stride` apart.
    template <class Value>
    void place_in(const Box& box, const Value* columns, std::size_t stride) {
        for (std::size_t a = 0; a < packed_.columns; ++a)
            place_[a] = box.place(a, static_cast<double>(columns[a * stride]));
        expand(packed_.features, packed_.columns, place_.data(), 1, statistics_.data());
    }

    std::size_t rows_of(std::size_t group) const { return std::min(group_rows, packed_.rows - group * group_rows); }

    // A whole span to one component.
    void give(const Level& level, std::size_t span, std::int32_t owner) {
        const std::size_t n_statistics = packed_.n_statistics, inside = level.blocks_each * rows / group_rows;
        const std::size_t groups = rounded_up(packed_.rows, group_rows) / group_rows;
        const double* total = level.totals + span * (n_statistics + 1);
        task_.counts[owner] += total[0];
        double* sums = task_.sums + static_cast<std::size_t>(owner) * n_statistics;
        for (std::size_t f = 0; f < n_statistics; ++f) sums[f] += total[f + 1];
        for (std::size_t g = span * inside; g < std::min(groups, (span + 1) * inside); ++g) {
            task_.owners[g] = owner;
            if (!task_.owners_before || task_.owners_before[g] != owner) task_.changed += moved(g);
        }
    }

    // Rows of a group that had other labels; those it has now are known.
    std::int64_t moved(std::size_t group) const {
        const std::size_t count = rows_of(group), first = group * group_rows;
        if (!task_.owners_before) return static_cast<std::int64_t>(count);
        const std::int32_t owner = task_.owners[group], before = task_.owners_before[group];
        const std::int32_t *now = task_.labels + first, *then = task_.labels_before + first;
        std::int64_t same = 0;
        if (owner >= 0 && before >= 0) return owner == before ? 0 : static_cast<std::int64_t>(count);
        if (owner >= 0)
            same = std::count(then, then + count, owner);
        else if (before >= 0)
            same = std::count(now, now + count, before);
        else
            for (std::size_t i = 0; i < count; ++i) same += now[i] == then[i];
        return static_cast<std::int64_t>(count) - same;
    }

    // The rows of a group, one by one.
    void measure_at(std::size_t group, const Candidates<float>& candidates) {
        const std::size_t first = group * group_rows, count = rows_of(group);
        const double error_bound = candidates.error_bound + pruning_.rounding(candidates);
        const std::int32_t *owners = labelling_.label(candidates, first, count, error_bound),
                           *names = candidates.names();
        std::int32_t* labels = task_.labels + first;
        for (std::size_t r = 0; r < count; ++r) labels[r] = names[owners[r]];
        const bool add_lanes = candidates.count <= most_by_lane;
        if (add_lanes) lanes_.open(names, candidates.count, task_.counts, task_.sums);
        for (std::size_t start = 0; start < count; start += rows) {
            const double* statistics = statistics_of(packed_, (first + start) / rows, block_statistics_);
            if (add_lanes)
                lanes_.add(owners + start, statistics, packed_.weights ? packed_.weights + first + start : nullptr,
                           std::min(rows, count - start));
            else
                add_by_row(packed_, first + start, std::min(rows, count - start), statistics, labels + start,
                           task_.counts, task_.sums);
        }
        const bool one_owner = std::count(labels, labels + count, *labels) == static_cast<std::ptrdiff_t>(count);
        task_.owners[group] = one_owner ? *labels : -1;
        task_.changed += moved(group);
    }

    const Packed<T>& packed_;
    const Model<double>& model_;
    const Tree& tree_;
    BoxesTask& task_;
    Pruning pruning_;
    GroupLabelling<T> labelling_;
    List<double> zeros_, ones_;
    Candidates<double> all_;         // measured from zero, in units
    List<Candidates<float>> lists_;  // those left at each level
    List<double> place_, statistics_;
    List<float> places_;
    Buffer<double> block_statistics_;
    LaneSums<T> lanes_;
};

}  // namespace

template <class T>
void boxes_pass(const Packed<T>& packed, const Model<double>& model, const Tree& tree, BoxesTask& task) {
    std::make_unique<Descent<T>>(packed, model, tree, task)->run();
}

template void boxes_pass(const Packed<double>&, const Model<double>&, const Tree&, BoxesTask&);
template void boxes_pass(const Packed<float>&, const Model<double>&, const Tree&, BoxesTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
