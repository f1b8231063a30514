// Hard passes that try, for stretches of neighbouring rows, only components that may win there. Where one is left, its
// rows are not looked at: what they add up to is known.

#include <cmath>
#include <memory>
#include <vector>

#include "labelling.hpp"
#include "lane_sums.hpp"
#include "narrowing.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Fewer candidates are tried on the rows at once.
constexpr std::size_t few_candidates = 8;

template <class T>
class Descent {
public:
    Descent(const Packed<T>& packed, const Model<double>& model, const Tree& tree, PrunedTask& task)
        : packed_(packed), model_(model), tree_(tree), task_(task), narrowing_(packed.features, packed.columns),
          work_(packed.order, packed.order > statistics_at_once ? model.components : 0), zeros_(packed.columns, 0.0),
          ones_(packed.columns, 1.0), all_(packed.order), place_(packed.columns), statistics_(packed.order),
          places_(some * packed.order),
          precise_(packed.order * rows), lanes_(packed.order) {
        for (std::size_t depth = 0; depth < tree.depth; ++depth) lists_.emplace_back(packed.order);
        if (!tree.starts) take(0, model.components, [](std::size_t c) { return c; });
    }

    void run() {
        for (std::size_t stretch = task_.first; stretch < task_.last; ++stretch) {
            if (tree_.starts)
                take(static_cast<std::size_t>(tree_.starts[stretch]), static_cast<std::size_t>(tree_.starts[stretch + 1]),
                     [&](std::size_t c) { return static_cast<std::size_t>(tree_.candidates[c]); });
            descend(0, stretch);
        }
        lanes_.close(task_);
    }

private:
    static constexpr std::size_t rows = block_rows<T>, wide = block_rows<float>;
    static constexpr std::size_t some = Narrowing::some_places;
    using Lanes = LaneSums<T>;

    // Starts from components that live; where none does, the first has all rows.
    template <class Name>
    void take(std::size_t first, std::size_t last, const Name& name) {
        const auto add = [&](std::size_t j) {
            all_.add(static_cast<std::int32_t>(j), model_.bias[j], model_.natural + j * model_.order);
        };
        all_.open({zeros_.data(), ones_.data()}, std::max<std::size_t>(1, last - first));
        for (std::size_t c = first; c < last; ++c)
            if (std::isfinite(model_.bias[name(c)])) add(name(c));
        if (all_.count == 0) add(0);
        all_.close();
    }

    void descend(std::size_t depth, std::size_t stretch) {
        const Level& level = tree_.levels[depth];
        const bool finest = depth + 1 == tree_.depth;
        const std::size_t inside = finest ? 0 : level.blocks_each / tree_.levels[depth + 1].blocks_each;
        const std::size_t first = stretch * inside, last = finest ? 0 : std::min(stretches(depth + 1), first + inside);
        const Box box = box_of(level, stretch);
        Candidates<float>& left = lists_[depth];
        if (depth == 0)
            narrowing_.narrow(all_, box, doubt_of(box), left);
        else
            narrowing_.narrow(lists_[depth - 1], box, doubt_of(lists_[depth - 1]), left);
        if (left.count > few_candidates) {
            for (std::size_t p = 0; p < some; ++p)
                if (finest)
                    set_row(p, box, stretch);
                else
                    set_place(p, box, tree_.levels[depth + 1].centres + std::min(first + p, last - 1) * packed_.columns, 1);
            narrowing_.narrow_further(left, places_.data());
        }
        if (left.count == 1)
            give(level, stretch, left.names()[0]);
        else if (finest)
            look_at(stretch, left);
        else
            for (std::size_t s = first; s < last; ++s) descend(depth + 1, s);
    }

    std::size_t stretches(std::size_t depth) const {
        const std::size_t each = tree_.levels[depth].blocks_each;
        return rounded_up(packed_.blocks(), each) / each;
    }

    Box box_of(const Level& level, std::size_t stretch) const {
        return {level.centres + stretch * packed_.columns, level.halves + stretch * packed_.columns};
    }

    // The rounding of the scores in double precision of rows in a box, and as much three times over for what is computed
    // in it when components are first ruled out.
    double doubt_of(const Box& box) {
        const Packed<double> shape = {nullptr,         nullptr,       nullptr,         packed_.rows,
                                      packed_.columns, packed_.order, packed_.features};
        for (std::size_t a = 0; a < packed_.columns; ++a) place_[a] = std::abs(box.centre[a]) + box.half[a];
        return 4 * near_tie(shape, model_, place_.data());
    }

    double doubt_of(const Candidates<float>& list) const { return list.doubt + narrowing_.rounding(list); }

    // Places in a box where it is asked who leads; columns lie `stride` apart.
    template <class Value>
    void set_place(std::size_t p, const Box& box, const Value* columns, std::size_t stride) {
        for (std::size_t a = 0; a < packed_.columns; ++a) place_[a] = box.place(a, static_cast<double>(columns[a * stride]));
        expand(packed_.features, packed_.columns, place_.data(), 1, statistics_.data());
        std::copy_n(statistics_.data(), packed_.order, places_.data() + p * packed_.order);
    }

    // Some rows of a group.
    void set_row(std::size_t p, const Box& box, std::size_t group) {
        const std::size_t i = group * wide + (2 * p + 1) * rows_of(group) / (2 * some);
        set_place(p, box, packed_.block(i / rows) + i % rows, rows);
    }

    std::size_t rows_of(std::size_t group) const { return std::min(wide, packed_.rows - group * wide); }

    // A whole stretch to one component.
    void give(const Level& level, std::size_t stretch, std::int32_t owner) {
        const std::size_t order = packed_.order, inside = level.blocks_each * rows / wide;
        const double* total = level.totals + stretch * (order + 1);
        task_.counts[owner] += total[0];
        double* sums = task_.sums + static_cast<std::size_t>(owner) * order;
        for (std::size_t f = 0; f < order; ++f) sums[f] += total[f + 1];
        for (std::size_t g = stretch * inside; g < std::min(stretches(tree_.depth - 1), (stretch + 1) * inside); ++g) {
            task_.owners[g] = owner;
            if (!task_.owners_before || task_.owners_before[g] != owner) task_.changed += moved(g);
        }
    }

    // Rows of a group that had other labels; those it has now are known.
    std::int64_t moved(std::size_t group) const {
        const std::size_t count = rows_of(group), first = group * wide;
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
    void look_at(std::size_t group, const Candidates<float>& candidates) {
        const std::size_t first = group * wide, count = rows_of(group);
        label(candidates, first, count);
        const bool add_lanes = candidates.count <= Lanes::most;
        if (add_lanes) lanes_.open(candidates.names(), candidates.count, task_);
        for (std::size_t start = first; start < first + count; start += rows) {
            const std::size_t size = std::min(rows, first + count - start);
            const std::int32_t* owners = work_.best.label + (start - first);
            const double* statistics = precise_statistics(start / rows);
            if (add_lanes)
                lanes_.add(owners, statistics, packed_.weights ? packed_.weights + start : nullptr, size);
            else
                add(candidates.names(), owners, start, size, statistics);
        }
        const std::int32_t* labels = task_.labels + first;
        const bool one_owner = std::count(labels, labels + count, *labels) == static_cast<std::ptrdiff_t>(count);
        task_.owners[group] = one_owner ? *labels : -1;
        task_.changed += moved(group);
    }

    // Labels the rows of a group by their places in its box; leaves their owners' places among the candidates in the
    // workspace (-1 past the last row).
    void label(const Candidates<float>& candidates, std::size_t first, std::size_t count) {
        const Model<float> few = grouped(candidates);
        float* statistics = work_.statistics.get();
        if (count < wide) std::fill_n(statistics, packed_.columns * wide, 0.0f);
        for (std::size_t start = 0; start < count; start += rows)
            for (std::size_t a = 0; a < packed_.columns; ++a) {
                const T* values = packed_.block((first + start) / rows) + a * rows;
                const double centre = candidates.box.centre[a], half = candidates.box.half[a];
                const double inverse = half > 0 ? 1 / half : 0.0;
                for (std::size_t r = 0; r < rows; ++r)
                    statistics[a * wide + start + r] = static_cast<float>((static_cast<double>(values[r]) - centre) * inverse);
            }
        build_statistics(packed_.features, packed_.columns, wide, statistics);
        Best<float>& best = work_.best;
        best.find(statistics, few, work_.scores.get());
        const double doubt = doubt_of(candidates);
        if (best.any_within(single_precision(doubt))) {
            take_exact(candidates);
            for (std::size_t r = 0; r < count; ++r) {
                const double margin = static_cast<double>(best.score[r]) - static_cast<double>(best.second[r]);
                if (margin > doubt) continue;  // what is not a number is in doubt too
                row_statistics(packed_, first + r, statistics_.data());
                best.label[r] = exact_label(statistics_.data(), natural_.data(), bias_.data(), candidates.count, packed_.order);
            }
        }
        for (std::size_t r = 0; r < count; ++r) task_.labels[first + r] = candidates.names()[best.label[r]];
        std::fill(best.label + count, best.label + wide, -1);
    }

    // Candidates as a model of their own, as scores need it.
    Model<float> grouped(const Candidates<float>& candidates) {
        const std::size_t order = packed_.order, padded = rounded_up(candidates.count, group);
        if (padded > grouped_room_) {
            grouped_room_ = padded;
            grouped_ = aligned<float>(padded * order);
        }
        for (std::size_t s = 0; s < padded; s += group)
            for (std::size_t f = 0; f < order; ++f)
                std::copy_n(candidates.coefficients(f) + s, group, grouped_.get() + s * order + f * group);
        return {grouped_.get(), candidates.lead(), nullptr, nullptr, nullptr, 0.0, candidates.count, order};
    }

    // The components as exact_label wants them.
    void take_exact(const Candidates<float>& candidates) {
        natural_.resize(candidates.count * packed_.order);
        bias_.resize(candidates.count);
        for (std::size_t s = 0; s < candidates.count; ++s) {
            const std::size_t j = static_cast<std::size_t>(candidates.names()[s]);
            bias_[s] = model_.bias[j];
            std::copy_n(model_.natural + j * packed_.order, packed_.order, natural_.data() + s * packed_.order);
        }
    }

    // Statistics of the rows of a block, [statistic][row].
    const double* precise_statistics(std::size_t block) {
        const T* values = packed_.block(block);
        if constexpr (sizeof(T) == 8)
            if (packed_.features == Features::identity) return values;
        std::copy_n(values, packed_.columns * rows, precise_.get());
        build_statistics(packed_.features, packed_.columns, rows, precise_.get());
        return precise_.get();
    }

    void add(const std::int32_t* names, const std::int32_t* owners, std::size_t first, std::size_t count,
             const double* statistics) {
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t owner = static_cast<std::size_t>(names[owners[r]]);
            const double weight = packed_.weight(first + r);
            task_.counts[owner] += weight;
            double* sums = task_.sums + owner * packed_.order;
            for (std::size_t f = 0; f < packed_.order; ++f) sums[f] += weight * statistics[f * rows + r];
        }
    }

    const Packed<T>& packed_;
    const Model<double>& model_;
    const Tree& tree_;
    PrunedTask& task_;
    Narrowing narrowing_;
    Workspace<float> work_;
    std::vector<double> zeros_, ones_;
    Candidates<double> all_;                // measured from zero, in units
    std::vector<Candidates<float>> lists_;  // those left at each level
    std::vector<double> place_, statistics_, natural_, bias_;
    std::vector<float> places_;
    std::size_t grouped_room_ = 0;
    std::unique_ptr<float[], AlignedDelete<float>> grouped_;
    Buffer<double> precise_;
    LaneSums<T> lanes_;
};

}  // namespace

template <class T>
void pruned(const Packed<T>& packed, const Model<double>& model, const Tree& tree, PrunedTask& task) {
    std::make_unique<Descent<T>>(packed, model, tree, task)->run();
}

template void pruned(const Packed<double>&, const Model<double>&, const Tree&, PrunedTask&);
template void pruned(const Packed<float>&, const Model<double>&, const Tree&, PrunedTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
