// Hard passes that try, for each group of neighbouring rows, only components that may win there.

#include <cmath>
#include <memory>

#include "labelling.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Some of the components, laid out so that loops run over them.
class Candidates {
public:
    Candidates(std::size_t most, std::size_t order)
        : most_(most), order_(order), names_(most), bias_(most), natural_(most * order) {}

    void clear() { count_ = 0; }

    template <class T>
    void add(const Model<T>& model, std::size_t j) {
        names_.get()[count_] = static_cast<std::int32_t>(j);
        bias_.get()[count_] = model.bias[j];
        for (std::size_t f = 0; f < order_; ++f) natural_.get()[f * most_ + count_] = model.natural[j * order_ + f];
        ++count_;
    }

    void add(const Candidates& from, std::size_t c) {
        names_.get()[count_] = from.names_.get()[c];
        bias_.get()[count_] = from.bias_.get()[c];
        for (std::size_t f = 0; f < order_; ++f) natural_.get()[f * most_ + count_] = from.natural_.get()[f * most_ + c];
        ++count_;
    }

    std::size_t count() const { return count_; }
    const std::int32_t* names() const { return names_.get(); }
    const double* bias() const { return bias_.get(); }
    const double* natural(std::size_t f) const { return natural_.get() + f * most_; }

private:
    std::size_t most_, order_, count_ = 0;
    Buffer<std::int32_t> names_;
    Buffer<double> bias_, natural_;
};

// A box of t(x).
struct Box {
    const double *centre, *half;
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

// Those of the candidates that may win somewhere in a box. Whoever wins at its centre is the one to beat: another stays
// only if the difference of the two scores, a linear function of t, may be positive somewhere in the box.
void narrow(const Candidates& from, const Box& box, std::size_t order, double doubt, double* score, Candidates& to) {
    const std::size_t count = from.count();
    std::copy_n(from.bias(), count, score);
    for (std::size_t f = 0; f < order; ++f) {
        const double* natural = from.natural(f);
        const double at = box.centre[f];
        for (std::size_t c = 0; c < count; ++c) score[c] += natural[c] * at;
    }
    const double best = largest(score, count), needed = best - 2 * doubt;
    const std::size_t winner = static_cast<std::size_t>(std::find(score, score + count, best) - score);
    for (std::size_t f = 0; f < order; ++f) {
        const double* natural = from.natural(f);
        const double to_beat = natural[winner], room = box.half[f];
        for (std::size_t c = 0; c < count; ++c) score[c] += std::abs(natural[c] - to_beat) * room;
    }
    to.clear();
    for (std::size_t c = 0; c < count; ++c)
        if (!(score[c] < needed)) to.add(from, c);
}

// Candidates as a model of their own.
template <class T>
class FewComponents {
public:
    FewComponents(const Model<T>& all, std::size_t most)
        : all_(all), natural_(most * all.order), bias_(most), grouped_(rounded_up(most, group) * all.order),
          grouped_bias_(rounded_up(most, group)) {}

    Model<T> of(const Candidates& candidates) {
        const std::size_t count = candidates.count(), order = all_.order;
        for (std::size_t s = 0; s < rounded_up(count, group); ++s) {
            const bool real = s < count;
            if (real) bias_.get()[s] = candidates.bias()[s];
            grouped_bias_.get()[s] = real ? static_cast<T>(candidates.bias()[s]) : -std::numeric_limits<T>::infinity();
            for (std::size_t f = 0; f < order; ++f) {
                if (real) natural_.get()[s * order + f] = candidates.natural(f)[s];
                grouped_.get()[(s / group * order + f) * group + s % group] =
                    real ? static_cast<T>(candidates.natural(f)[s]) : T(0);
            }
        }
        return {grouped_.get(), grouped_bias_.get(), natural_.get(), bias_.get(), all_.largest, all_.largest_bias,
                count,          order};
    }

private:
    const Model<T>& all_;
    Buffer<double> natural_, bias_;
    Buffer<T> grouped_, grouped_bias_;
};

}  // namespace

// The task's blocks are regions here. A region's list of candidates is cut for each of its districts, and that for each
// group of the district.
template <class T>
void pruned(const Packed<T>& packed, const Model<T>& model, const Plan& plan, HardTask& task) {
    auto work = std::make_unique<Workspace<T>>(packed.order, model.components);
    const std::size_t order = packed.order, most = model.components;
    Candidates in_region(most, order), in_district(most, order), in_group(most, order);
    FewComponents<T> few(model, most);
    Buffer<double> score(most);
    const auto box = [&](const Boxes& boxes, std::size_t b) {
        const std::size_t place = b / boxes.blocks_each * order;
        return Box{boxes.centres + place, boxes.halves + place};
    };
    for (std::size_t region = task.first_block; region < task.last_block; ++region) {
        in_region.clear();
        for (std::int64_t c = plan.starts[region]; c < plan.starts[region + 1]; ++c)
            in_region.add(model, static_cast<std::size_t>(plan.candidates[c]));
        const std::size_t end = std::min(packed.blocks(), (region + 1) * plan.blocks_a_region);
        double doubt = 0.0;
        for (std::size_t b = region * plan.blocks_a_region; b < end; ++b)
            doubt = std::max(doubt, near_tie(packed, model, b));
        for (std::size_t b = region * plan.blocks_a_region; b < end; b += plan.groups.blocks_each) {
            if (b % plan.districts.blocks_each == 0)
                narrow(in_region, box(plan.districts, b), order, doubt, score.get(), in_district);
            narrow(in_district, box(plan.groups, b), order, doubt, score.get(), in_group);
            const Model<T> left = few.of(in_group);
            for (std::size_t c = b; c < std::min(end, b + plan.groups.blocks_each); ++c)
                visit(packed, left, in_group.names(), c, *work, task);
        }
    }
}

template void pruned(const Packed<double>&, const Model<double>&, const Plan&, HardTask&);
template void pruned(const Packed<float>&, const Model<float>&, const Plan&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
