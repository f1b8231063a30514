// Hard passes that try, for each group of neighbouring rows, only components that may win there.

#include "labelling.hpp"

#include <memory>
#include <cmath>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Of the candidates, those that may win somewhere in a box. Whoever wins at its centre is the one to beat: another
// component stays only if the difference of the two scores, a linear function of t, is positive somewhere in the box.
template <class T>
class Shortlist {
public:
    explicit Shortlist(const Model<T>& model)
        : model_(model), natural_(model.padded() * model.order), bias_(model.padded()),
          grouped_(model.padded() * model.order), grouped_bias_(model.padded()), names_(model.padded()),
          by_statistic_(model.padded() * model.order), candidate_bias_(model.padded()), score_(model.padded()) {}

    // The candidates of a region, laid out so that the loops below run over them.
    void enter(const std::int32_t* candidates, std::size_t count) {
        candidates_ = candidates;
        count_ = count;
        for (std::size_t c = 0; c < count; ++c) {
            const std::size_t j = static_cast<std::size_t>(candidates[c]);
            candidate_bias_.get()[c] = model_.bias[j];
            for (std::size_t f = 0; f < model_.order; ++f)
                by_statistic_.get()[f * count + c] = model_.natural[j * model_.order + f];
        }
    }

    // Those of them that stay in one box.
    void choose(const double* centre, const double* half, double doubt) {
        const std::size_t order = model_.order;
        double* score = score_.get();
        std::copy_n(candidate_bias_.get(), count_, score);
        for (std::size_t f = 0; f < order; ++f) {
            const double* natural = by_statistic_.get() + f * count_;
            const double at = centre[f];
            for (std::size_t c = 0; c < count_; ++c) score[c] += natural[c] * at;
        }
        const std::size_t winner = static_cast<std::size_t>(std::max_element(score, score + count_) - score);
        const double needed = score[winner] - 2 * doubt;
        for (std::size_t f = 0; f < order; ++f) {
            const double* natural = by_statistic_.get() + f * count_;
            const double to_beat = natural[winner], room = half[f];
            for (std::size_t c = 0; c < count_; ++c) score[c] += std::abs(natural[c] - to_beat) * room;
        }
        size_ = 0;
        for (std::size_t c = 0; c < count_; ++c)
            if (!(score[c] < needed)) add(candidates_[c]);
        for (std::size_t s = size_; s < rounded_up(size_, group); ++s) {
            grouped_bias_.get()[s] = -std::numeric_limits<T>::infinity();
            for (std::size_t f = 0; f < order; ++f) grouped_.get()[place(s, f)] = T(0);
        }
    }

    Model<T> model() {
        return {grouped_.get(), grouped_bias_.get(), natural_.get(), bias_.get(), model_.largest, model_.largest_bias,
                size_,          model_.order};
    }
    const std::int32_t* names() { return names_.get(); }

private:
    std::size_t place(std::size_t s, std::size_t f) const {
        return (s / group * model_.order + f) * group + s % group;
    }

    void add(std::int32_t component) {
        const std::size_t j = static_cast<std::size_t>(component), order = model_.order, s = size_++;
        names_.get()[s] = component;
        bias_.get()[s] = model_.bias[j];
        grouped_bias_.get()[s] = static_cast<T>(model_.bias[j]);
        for (std::size_t f = 0; f < order; ++f) {
            natural_.get()[s * order + f] = model_.natural[j * order + f];
            grouped_.get()[place(s, f)] = static_cast<T>(model_.natural[j * order + f]);
        }
    }

    const Model<T>& model_;
    Buffer<double> natural_, bias_;  // of those that stay
    Buffer<T> grouped_, grouped_bias_;
    Buffer<std::int32_t> names_;
    std::size_t size_ = 0;
    Buffer<double> by_statistic_, candidate_bias_, score_;  // of the region's candidates
    const std::int32_t* candidates_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace

// A hard pass that tries, for each group of neighbouring rows, only the components that may win there. The task's
// blocks are regions here.
template <class T>
void pruned(const Packed<T>& packed, const Model<T>& model, const Plan& plan, HardTask& task) {
    auto work = std::make_unique<Workspace<T>>(packed.order, model.components);
    Shortlist<T> shortlist(model);
    const std::size_t order = packed.order;
    for (std::size_t region = task.first_block; region < task.last_block; ++region) {
        const std::size_t end = std::min(packed.blocks(), (region + 1) * plan.blocks_a_region);
        shortlist.enter(plan.candidates + plan.starts[region],
                        static_cast<std::size_t>(plan.starts[region + 1] - plan.starts[region]));
        for (std::size_t b = region * plan.blocks_a_region; b < end; b += plan.blocks_a_group) {
            const std::size_t box = b / plan.blocks_a_group, stop = std::min(end, b + plan.blocks_a_group);
            double doubt = 0.0;
            for (std::size_t c = b; c < stop; ++c) doubt = std::max(doubt, near_tie(packed, model, c));
            shortlist.choose(plan.centres + box * order, plan.halves + box * order, doubt);
            const Model<T> few = shortlist.model();
            for (std::size_t c = b; c < stop; ++c) visit(packed, few, shortlist.names(), c, *work, task);
        }
    }
}

template void pruned(const Packed<double>&, const Model<double>&, const Plan&, HardTask&);
template void pruned(const Packed<float>&, const Model<float>&, const Plan&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
