// Hard passes that try, for stretches of neighbouring rows, only components that may win there. Where one is left, its
// rows are not looked at: what they add up to is known.

#include <cmath>
#include <memory>
#include <vector>

#include "labelling.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Some of the components, laid out so that loops run over them.
class Candidates {
public:
    explicit Candidates(std::size_t order) : order_(order) {}

    // Empties the list and makes room for so many.
    void open(std::size_t most) {
        count_ = 0;
        if (most <= most_) return;
        most_ = rounded_up(most, 16);
        names_.resize(most_);
        bias_.resize(most_);
        natural_.resize(most_ * order_);
    }

    template <class T>
    void add(const Model<T>& model, std::size_t j) {
        names_[count_] = static_cast<std::int32_t>(j);
        bias_[count_] = model.bias[j];
        for (std::size_t f = 0; f < order_; ++f) natural_[f * most_ + count_] = model.natural[j * order_ + f];
        ++count_;
    }

    // Takes those of another list whose score is not below what is needed, or not a number.
    void take(const Candidates& from, const double* score, double needed) {
        open(from.count_);
        kept_.resize(most_);
        for (std::size_t c = 0; c < from.count_; ++c) {
            kept_[count_] = static_cast<std::uint32_t>(c);
            count_ += !(score[c] < needed);
        }
        for (std::size_t c = 0; c < count_; ++c) names_[c] = from.names_[kept_[c]];
        for (std::size_t c = 0; c < count_; ++c) bias_[c] = from.bias_[kept_[c]];
        for (std::size_t f = 0; f < order_; ++f) {
            const double* natural = from.natural(f);
            for (std::size_t c = 0; c < count_; ++c) natural_[f * most_ + c] = natural[kept_[c]];
        }
    }

    std::size_t count() const { return count_; }
    const std::int32_t* names() const { return names_.data(); }
    const double* bias() const { return bias_.data(); }
    const double* natural(std::size_t f) const { return natural_.data() + f * most_; }

private:
    std::size_t order_, most_ = 0, count_ = 0;
    std::vector<std::int32_t> names_;
    std::vector<std::uint32_t> kept_;
    std::vector<double> bias_, natural_;
};

double largest(const double* values, std::size_t count) {
    constexpr std::size_t apart = 8;  // several at a time, so that none waits for the one before
    double top[apart];
    std::fill_n(top, apart, -std::numeric_limits<double>::infinity());
    std::size_t c = 0;
    for (; c + apart <= count; c += apart)
        for (std::size_t l = 0; l < apart; ++l) top[l] = values[c + l] > top[l] ? values[c + l] : top[l];
    for (; c < count; ++c) top[0] = std::max(top[0], values[c]);
    return *std::max_element(top, top + apart);
}

// A box of columns, and the statistics of its centre.
struct Box {
    Features features;
    std::size_t columns;
    const double *centre, *half, *statistics;
};

// The lead over the winner at the centre, the difference of two quadratic functions of the columns, is the same function
// of the distance u from the centre: its slope there times u, and the products of u. Adds to each score what the lead
// may gain within the box.
void add_gains(const Candidates& from, const Box& box, std::size_t winner, double* slope, double* score) {
    const std::size_t d = box.columns, count = from.count();
    const auto product = [&](std::size_t a, std::size_t b) {  // the statistic that is x_a x_b, a <= b
        return box.features == Features::diagonal ? d + a : d + a * d - a * (a + 1) / 2 + b;
    };
    const auto coupled = [&](std::size_t a, std::size_t b) {
        return box.features == Features::quadratic || (box.features == Features::diagonal && a == b);
    };
    for (std::size_t a = 0; a < d; ++a) {
        const double *natural = from.natural(a), to_beat = natural[winner], room = box.half[a];
        for (std::size_t c = 0; c < count; ++c) slope[c] = natural[c] - to_beat;
        for (std::size_t b = 0; b < d; ++b) {
            if (!coupled(a, b)) continue;
            const double* curve = from.natural(product(std::min(a, b), std::max(a, b)));
            const double own = curve[winner], at = (a == b ? 2 : 1) * box.centre[b];
            for (std::size_t c = 0; c < count; ++c) slope[c] += (curve[c] - own) * at;
        }
        for (std::size_t c = 0; c < count; ++c) score[c] += std::abs(slope[c]) * room;
    }
    for (std::size_t a = 0; a < d; ++a)
        for (std::size_t b = a; b < d; ++b) {
            if (!coupled(a, b)) continue;
            const double *curve = from.natural(product(a, b)), own = curve[winner], room = box.half[a] * box.half[b];
            if (a == b)  // a square is never negative
                for (std::size_t c = 0; c < count; ++c) score[c] += std::max(curve[c] - own, 0.0) * room;
            else
                for (std::size_t c = 0; c < count; ++c) score[c] += std::abs(curve[c] - own) * room;
        }
}

// Candidates as a model of their own.
template <class T>
class FewComponents {
public:
    explicit FewComponents(const Model<T>& all) : all_(all) {}

    // What scores need; `natural` is for `exact` to fill in.
    Model<T> of(const Candidates& candidates) {
        const std::size_t count = candidates.count(), order = all_.order;
        if (count > most_) {
            most_ = rounded_up(count, 16);
            natural_.resize(most_ * order);
            grouped_ = std::make_unique<Buffer<T>>(most_ * order);
            grouped_bias_ = std::make_unique<Buffer<T>>(most_);
        }
        T *grouped = grouped_->get(), *grouped_bias = grouped_bias_->get();
        std::copy_n(candidates.bias(), count, grouped_bias);
        std::fill_n(grouped_bias + count, rounded_up(count, group) - count, -std::numeric_limits<T>::infinity());
        for (std::size_t f = 0; f < order; ++f) {
            const double* natural = candidates.natural(f);
            for (std::size_t s = 0; s < count; ++s)
                grouped[(s / group * order + f) * group + s % group] = static_cast<T>(natural[s]);
            for (std::size_t s = count; s < rounded_up(count, group); ++s)
                grouped[(s / group * order + f) * group + s % group] = T(0);
        }
        return {grouped, grouped_bias, natural_.data(), candidates.bias(), all_.largest, all_.largest_bias, count, order};
    }

    // The natural parameters as exact_label wants them.
    void exact(const Candidates& candidates) {
        for (std::size_t s = 0; s < candidates.count(); ++s)
            for (std::size_t f = 0; f < all_.order; ++f) natural_[s * all_.order + f] = candidates.natural(f)[s];
    }

private:
    const Model<T>& all_;
    std::size_t most_ = 0;
    std::vector<double> natural_;
    std::unique_ptr<Buffer<T>> grouped_, grouped_bias_;
};

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
    template <class Integer>
    void add(const Integer* owners, const double* statistics, const double* weights, std::size_t count) {
        if (weights) std::copy_n(weights, count, weights_.get());
        for (std::size_t c = 0; c < count_; ++c) {
            IntVec<double> own[vectors], any{};
            for (std::size_t v = 0; v < vectors; ++v) {
                if constexpr (sizeof(Integer) == 8)
                    std::memcpy(&own[v], owners + v * width, sizeof own[v]);
                else
                    own[v] = widened<double>(owners + v * width);
                own[v] = own[v] == static_cast<std::int64_t>(c);
                any |= own[v];
            }
            std::int64_t some = 0;
            for (std::size_t lane = 0; lane < width; ++lane) some |= any[lane];
            if (!some) continue;
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

template <class T>
class Descent {
public:
    Descent(const Packed<T>& packed, const Model<T>& model, const Tree& tree, PrunedTask& task)
        : packed_(packed), model_(model), tree_(tree), task_(task), few_(model),
          work_(packed.order, packed.order > statistics_at_once ? model.components : 0),
          lists_(tree.depth + 1, Candidates(packed.order)), centre_(packed.order), largest_(packed.columns),
          precise_(sizeof(T) == 4 ? packed.order * rows : 0), lanes_(packed.order) {
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
    static constexpr std::size_t rows = block_rows<T>;
    using Lanes = LaneSums<T>;

    // Starts from components that live; where none does, the first has all rows.
    template <class Name>
    void take(std::size_t first, std::size_t last, const Name& name) {
        lists_[0].open(std::max<std::size_t>(1, last - first));
        for (std::size_t c = first; c < last; ++c)
            if (std::isfinite(model_.bias[name(c)])) lists_[0].add(model_, name(c));
        if (lists_[0].count() == 0) lists_[0].add(model_, 0);
        scores_.resize(std::max(scores_.size(), lists_[0].count()));
        slopes_.resize(scores_.size());
    }

    void descend(std::size_t depth, std::size_t stretch) {
        const Level& level = tree_.levels[depth];
        narrow(lists_[depth], level, stretch, lists_[depth + 1]);
        const Candidates& left = lists_[depth + 1];
        if (left.count() == 1)
            give(level, stretch, left.names()[0]);
        else if (depth + 1 == tree_.depth)
            look_at(stretch, left);
        else {
            const std::size_t inside = level.blocks_each / tree_.levels[depth + 1].blocks_each;
            const std::size_t all = rounded_up(packed_.blocks(), tree_.levels[depth + 1].blocks_each) /
                                    tree_.levels[depth + 1].blocks_each;
            for (std::size_t s = stretch * inside; s < std::min(all, (stretch + 1) * inside); ++s) descend(depth + 1, s);
        }
    }

    // Those of the candidates that may win somewhere in the box of a stretch. Whoever wins at its centre is the one to
    // beat: another stays only if the difference of the two scores may be positive somewhere in the box.
    void narrow(const Candidates& from, const Level& level, std::size_t stretch, Candidates& to) {
        const std::size_t d = packed_.columns, order = packed_.order, count = from.count();
        const Box box = {packed_.features, d, level.centres + stretch * d, level.halves + stretch * d, centre_.data()};
        expand(packed_.features, d, box.centre, 1, centre_.data());
        for (std::size_t a = 0; a < d; ++a) largest_[a] = std::abs(box.centre[a]) + box.half[a];
        double* score = scores_.data();
        std::copy_n(from.bias(), count, score);
        for (std::size_t f = 0; f < order; ++f) {
            const double *natural = from.natural(f), at = box.statistics[f];
            for (std::size_t c = 0; c < count; ++c) score[c] += natural[c] * at;
        }
        // The rounding of the rows' own scores, and as much three times over for what is computed here.
        const double best = largest(score, count), needed = best - 4 * near_tie(packed_, model_, largest_.data());
        const std::size_t winner = static_cast<std::size_t>(std::find(score, score + count, best) - score);
        // Not a number, by overflow: no one is ruled out.
        if (winner == count) return to.take(from, score, -std::numeric_limits<double>::infinity());
        add_gains(from, box, winner, slopes_.data(), score);
        to.take(from, score, needed);
    }

    std::size_t rows_of(std::size_t group) const {
        const std::size_t each = tree_.finest().blocks_each * rows;
        return std::min(each, packed_.rows - group * each);
    }

    // A whole stretch to one component.
    void give(const Level& level, std::size_t stretch, std::int32_t owner) {
        const std::size_t order = packed_.order, inside = level.blocks_each / tree_.finest().blocks_each;
        const double* total = level.totals + stretch * (order + 1);
        task_.counts[owner] += total[0];
        double* sums = task_.sums + static_cast<std::size_t>(owner) * order;
        for (std::size_t f = 0; f < order; ++f) sums[f] += total[f + 1];
        const std::size_t all = rounded_up(packed_.blocks(), tree_.finest().blocks_each) / tree_.finest().blocks_each;
        for (std::size_t g = stretch * inside; g < std::min(all, (stretch + 1) * inside); ++g) {
            task_.owners[g] = owner;
            if (!task_.owners_before || task_.owners_before[g] != owner) task_.changed += moved(g);
        }
    }

    // Rows of a group that had other labels; those it has now are known.
    std::int64_t moved(std::size_t group) const {
        const std::size_t count = rows_of(group), first = group * tree_.finest().blocks_each * rows;
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
    void look_at(std::size_t group, const Candidates& candidates) {
        const Model<T> few = few_.of(candidates);
        const std::size_t first = group * tree_.finest().blocks_each * rows, count = rows_of(group);
        const bool add_lanes = few.components <= Lanes::most;
        if (add_lanes) lanes_.open(candidates.names(), few.components, task_);
        for (std::size_t start = first; start < first + count; start += rows) {
            const std::size_t size = std::min(rows, first + count - start);
            const double* statistics = label(few, candidates, start, size);
            if (!add_lanes)
                add(candidates.names(), start, size, statistics);
            else
                lanes_.add(work_.best.label, statistics, packed_.weights ? packed_.weights + start : nullptr, size);
        }
        const std::int32_t* labels = task_.labels + first;
        const bool one_owner = std::count(labels, labels + count, *labels) == static_cast<std::ptrdiff_t>(count);
        task_.owners[group] = one_owner ? *labels : -1;
        task_.changed += moved(group);
    }

    // Labels the rows of a block; leaves their places among the candidates in the workspace (-1 past the last row) and
    // returns their statistics in double precision, [statistic][row].
    const double* label(const Model<T>& few, const Candidates& candidates, std::size_t first, std::size_t count) {
        const std::size_t block = first / rows;
        const T *values = packed_.block(block), *statistics = values;
        if (packed_.features != Features::identity) {
            std::copy_n(values, packed_.columns * rows, work_.statistics.get());
            build_statistics(packed_.features, packed_.columns, rows, work_.statistics.get());
            statistics = work_.statistics.get();
        }
        Best<T>& best = work_.best;
        best.find(statistics, few, work_.scores.get());
        const double doubt = near_tie(packed_, few, block);
        if (best.any_within(static_cast<T>(doubt * 1.000001))) {  // rounded up, as the precision may be lower
            few_.exact(candidates);
            for (std::size_t r = 0; r < count; ++r) {
                const double margin = static_cast<double>(best.score[r]) - static_cast<double>(best.second[r]);
                if (margin > doubt) continue;  // NaN, from overflow in float, is in doubt too
                expand(packed_.features, packed_.columns, values + r, rows, work_.one_row.get());
                best.label[r] = exact_label(work_.one_row.get(), few.natural, few.bias, few.components, packed_.order);
            }
        }
        for (std::size_t r = 0; r < count; ++r) task_.labels[first + r] = candidates.names()[best.label[r]];
        for (std::size_t r = count; r < rows; ++r) best.label[r] = -1;
        if constexpr (sizeof(T) == 8) {
            return statistics;
        } else {
            std::copy_n(values, packed_.columns * rows, precise_.get());
            build_statistics(packed_.features, packed_.columns, rows, precise_.get());
            return precise_.get();
        }
    }

    void add(const std::int32_t* names, std::size_t first, std::size_t count, const double* statistics) {
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t owner = static_cast<std::size_t>(names[work_.best.label[r]]);
            const double weight = packed_.weight(first + r);
            task_.counts[owner] += weight;
            double* sums = task_.sums + owner * packed_.order;
            for (std::size_t f = 0; f < packed_.order; ++f) sums[f] += weight * statistics[f * rows + r];
        }
    }

    const Packed<T>& packed_;
    const Model<T>& model_;
    const Tree& tree_;
    PrunedTask& task_;
    FewComponents<T> few_;
    Workspace<T> work_;
    std::vector<Candidates> lists_;  // of each level, before and after
    std::vector<double> centre_, largest_, scores_, slopes_;
    Buffer<double> precise_;
    LaneSums<T> lanes_;
};

}  // namespace

template <class T>
void pruned(const Packed<T>& packed, const Model<T>& model, const Tree& tree, PrunedTask& task) {
    std::make_unique<Descent<T>>(packed, model, tree, task)->run();
}

template void pruned(const Packed<double>&, const Model<double>&, const Tree&, PrunedTask&);
template void pruned(const Packed<float>&, const Model<float>&, const Tree&, PrunedTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
