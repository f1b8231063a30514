// Pruning of components that cannot win in a box (filtering: Kanungo et al. 2002, Pelleg and Moore 1999).

#pragma once

#include "boxes/candidates.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

class Pruning {
public:
    static constexpr std::size_t some_places = 4;

    Pruning(Features features, std::size_t columns)
        : features_(features), columns_(columns), n_statistics_(n_statistics_of(features, columns)), move_(columns),
          at_(n_statistics_), single_(n_statistics_), precise_(n_statistics_) {
        for (std::size_t a = 0; a < columns && features != Features::identity; ++a)
            for (std::size_t b = a; b < (features == Features::diagonal ? a + 1 : columns); ++b)
                products_.push_back({a, b});
        for (std::size_t p = 0; p < products_.size(); ++p) {
            const auto [a, b] = products_[p];
            if (a == b) squares_.push_back(columns + p);
            bends_.push_back({a, b, columns + p, a == b ? 2.0 : 1.0});
            if (a != b) bends_.push_back({b, a, columns + p, 1.0});
        }
        single_.steps.resize(bends_.size());
        precise_.steps.resize(bends_.size());
    }

    // The error that measuring a list from another center adds to differences of scores, and as much for comparing
    // the results. No part of a term is rounded more than ten times, or once with every addition after it, in
    // either score, by half an epsilon. Underflow is an absolute error.
    double rounding(const Candidates<float>& list) const {
        constexpr double epsilon = std::numeric_limits<float>::epsilon(), smallest = 1.5e-45;
        return 2 * static_cast<double>(n_statistics_ + 6) * (epsilon * list.size + 8 * smallest * (1 + list.size));
    }

    // In double precision it is part of the error bound that a list starts with.
    double rounding(const Candidates<double>&) const { return 0.0; }

    // The components of a list that may win in a box inside its own. The best one at the center is the rival: another
    // stays only if the difference of the two scores may be positive somewhere in the box, but for the error bound.
    template <class Real>
    void prune(const Candidates<Real>& from, const Box& box, Candidates<float>& to) {
        Measured<Real>& now = measured<Real>();
        const std::size_t winner = measure(from, box, now);
        to.open(box, from.count);
        to.error_bound = from.error_bound + rounding(from);
        const Real top = now.margin[winner];
        for (std::size_t f = 0; f < n_statistics_; ++f) now.best[f] = now.terms[f][winner];
        const Vec<Real> needed = broadcast(-in_precision<Real>(to.error_bound + rounding(from)));
        Vec<Real> largest{};
        IntVec<Real> place = first_places<Real>();
        for (std::size_t c = 0; c < from.count; c += lanes<Real>, place += static_cast<Integer<Real>>(lanes<Real>)) {
            const Vec<Real> behind = load(now.margin.get() + c) - top;
            Vec<Real> gain{};
            for (std::size_t f = 0; f < n_statistics_; ++f)
                gain += absolute<Real>(load(now.terms[f] + c) - now.best[f]) * now.scale[f];
            const Vec<Real> size = gain + absolute<Real>(behind);
            for (const std::size_t f : squares_)
                gain += negative<Real>(load(now.terms[f] + c) - now.best[f]) * now.scale[f];
            // NaN stays.
            const IntVec<Real> kept = ~(behind + gain < needed) & (place < static_cast<Integer<Real>>(from.count));
            const unsigned bits = bits_of<Real>(kept);
            if (bits == 0) continue;
            store_names<Real>(to.names() + to.count, from.names() + c, bits);
            float* out = to.margin() + to.count;
            store_chosen(out, behind, bits);
            for (std::size_t f = 0; f < n_statistics_; ++f)
                store_chosen(out += to.stride(), (load(now.terms[f] + c) - now.best[f]) * now.scale[f], bits);
            to.count += static_cast<std::size_t>(__builtin_popcount(bits));
            // Infinite where it is NaN or beyond single precision.
            const Vec<Real> bounded = size < broadcast(most<Real>) ? size : broadcast(infinite<Real>);
            largest = kept & ~(bounded <= largest) ? bounded : largest;
        }
        to.size = static_cast<double>(highest<Real>(largest));
        to.close();
    }

    // Prunes those that win nowhere against the winners at `some_places` places of the box, given by their statistics,
    // [place][statistic].
    void prune_further(Candidates<float>& list, const float* places) {
        std::size_t rivals[some_places];
        find_winners(list, places, rivals);
        std::sort(rivals, rivals + some_places);
        const std::size_t* last = std::unique(rivals, rivals + some_places);
        beaten_.clear();
        for (const std::size_t* rival = rivals; rival < last; ++rival) {
            beaten_.push_back(list.margin()[*rival]);
            for (std::size_t f = 0; f < n_statistics_; ++f) beaten_.push_back(list.coefficients(f)[*rival]);
        }
        const Vec<float> needed = broadcast(-in_precision<float>(list.error_bound + rounding(list)));
        const std::size_t before = list.count, stride = list.stride();
        list.count = 0;
        IntVec<float> place = first_places<float>();
        for (std::size_t c = 0; c < before; c += lanes<float>, place += static_cast<std::int32_t>(lanes<float>)) {
            unsigned bits = bits_of<float>(place < static_cast<std::int32_t>(before));
            for (const float* best = beaten_.data(); best < beaten_.data() + beaten_.size() && bits;
                 best += 1 + n_statistics_) {
                const float* term = list.margin() + c;
                Vec<float> upper = load(term) - best[0];
                for (std::size_t f = 1; f <= n_statistics_; ++f)
                    upper += absolute<float>(load(term += stride) - best[f]);
                for (const std::size_t f : squares_)
                    upper += negative<float>(load(list.coefficients(f) + c) - best[1 + f]);
                bits &= bits_of<float>(~(upper < needed));
            }
            if (bits == 0) continue;
            store_names<float>(list.names() + list.count, list.names() + c, bits);
            const float* term = list.margin() + c;
            float* to = list.margin() + list.count;
            for (std::size_t f = 0; f <= n_statistics_; ++f, term += stride, to += stride)
                store_chosen(to, load(term), bits);
            list.count += static_cast<std::size_t>(__builtin_popcount(bits));
        }
        list.close();
    }

private:
    template <class Real>
    using Integer = typename VectorOf<Real>::Integer;
    template <class Real>
    static constexpr Real infinite = std::numeric_limits<Real>::infinity();
    template <class Real>
    static constexpr Real most = static_cast<Real>(1e38);

    // A list measured from the center of another box, in the half widths of its own: those of the other are `scale`.
    template <class Real>
    struct Measured {
        explicit Measured(std::size_t n_statistics)
            : terms(n_statistics), at(n_statistics), scale(n_statistics), best(n_statistics) {}

        std::size_t room = 0;
        Aligned<Real> margin, slopes;
        List<const Real*> terms;  // [statistic]: the coefficients
        List<Real> at, scale,
            best;          // [statistic]: the center's, the half widths', and terms of the best component there
        List<Real> steps;  // [bend]: from one center to the other
    };

    template <class Real>
    Measured<Real>& measured();

    // The part of a bound that a square cannot reach, since it is never negative.
    template <class Real>
    static Vec<Real> negative(Vec<Real> x) {
        return x < Vec<Real>{} ? x : Vec<Real>{};
    }

    template <class Real>
    static IntVec<Real> first_places() {
        IntVec<Real> place;
        for (std::size_t lane = 0; lane < lanes<Real>; ++lane) place[lane] = static_cast<Integer<Real>>(lane);
        return place;
    }

    // Names are stored by the same lanes as the values they belong to.
    template <class Real>
    static void store_names(std::int32_t* to, const std::int32_t* from, unsigned bits) {
        if constexpr (sizeof(Real) == 4 && vector_bytes > 16) {
            Vec<float> names;
            std::memcpy(&names, from, sizeof names);
            store_chosen(reinterpret_cast<float*>(to), names, bits);
        } else
            write_chosen<lanes<Real>>(to, from, bits);
    }

    // The best of some scores of all components.
    template <class Real>
    struct Leader {
        Vec<Real> top = broadcast(-infinite<Real>);
        IntVec<Real> winner{};

        void measure_at(Vec<Real> scores, IntVec<Real> places) {
            const IntVec<Real> better = scores > top;
            top = better ? scores : top;
            winner = better ? places : winner;
        }

        std::size_t place() const {
            const unsigned bits = bits_of<Real>(top == broadcast(highest<Real>(top)));
            return static_cast<std::size_t>(winner[__builtin_ctz(bits)]);
        }
    };

    void find_winners(const Candidates<float>& list, const float* places, std::size_t* winners) const {
        Leader<float> leaders[some_places];
        IntVec<float> place = first_places<float>();
        for (std::size_t c = 0; c < list.count; c += lanes<float>, place += static_cast<std::int32_t>(lanes<float>)) {
            const float* term = list.margin() + c;
            Vec<float> scores[some_places];
            for (Vec<float>& score : scores) score = load(term);
            for (std::size_t f = 0; f < n_statistics_; ++f) {
                const Vec<float> coefficients = load(term += list.stride());
                for (std::size_t p = 0; p < some_places; ++p) scores[p] += coefficients * places[p * n_statistics_ + f];
            }
            for (std::size_t p = 0; p < some_places; ++p) leaders[p].measure_at(scores[p], place);
        }
        for (std::size_t p = 0; p < some_places; ++p) winners[p] = leaders[p].place();
    }

    // Returns the best component at the center of the box.
    template <class Real>
    std::size_t measure(const Candidates<Real>& from, const Box& box, Measured<Real>& now) {
        const std::size_t padded = rounded_up(from.count, lanes<Real>);
        if (padded > now.room) {
            now.room = padded;
            now.margin = aligned<Real>(padded);
            now.slopes = aligned<Real>(padded * (products_.empty() ? 0 : columns_));
        }
        for (std::size_t a = 0; a < columns_; ++a) {
            move_[a] = from.box.place(a, box.center[a]);
            now.scale[a] = static_cast<Real>(from.box.half[a] > 0 ? box.half[a] / from.box.half[a] : 0.0);
        }
        expand(features_, columns_, move_.data(), 1, at_.data());
        for (std::size_t f = 0; f < n_statistics_; ++f) {
            now.terms[f] = from.coefficients(f);
            now.at[f] = static_cast<Real>(at_[f]);
        }
        for (std::size_t p = 0; p < products_.size(); ++p)
            now.scale[columns_ + p] = now.scale[products_[p].first] * now.scale[products_[p].second];
        for (std::size_t i = 0; i < bends_.size(); ++i)
            now.steps[i] = static_cast<Real>(bends_[i].times * move_[bends_[i].other]);
        if (!bends_.empty())
            for (std::size_t a = 0; a < columns_; ++a) now.terms[a] = now.slopes.get() + a * now.room;
        Leader<Real> leader;
        IntVec<Real> place = first_places<Real>();
        for (std::size_t c = 0; c < from.count; c += lanes<Real>, place += static_cast<Integer<Real>>(lanes<Real>)) {
            const Real* term = from.margin() + c;
            Vec<Real> margin = load(term);
            for (std::size_t f = 0; f < n_statistics_; ++f) margin += load(term += from.stride()) * now.at[f];
            store(now.margin.get() + c, margin);
            leader.measure_at(margin, place);
            if (bends_.empty()) continue;
            for (std::size_t a = 0; a < columns_; ++a)
                store(now.slopes.get() + a * now.room + c, load(from.coefficients(a) + c));
            for (std::size_t i = 0; i < bends_.size(); ++i) {
                Real* slope = now.slopes.get() + bends_[i].column * now.room + c;
                store(slope, load(slope) + load(from.coefficients(bends_[i].statistic) + c) * now.steps[i]);
            }
        }
        return leader.place();
    }

    // The slope along one column changes with the other by `times` the coefficient of their product.
    struct Bend {
        std::size_t column, other, statistic;
        double times;
    };

    Features features_;
    std::size_t columns_, n_statistics_;
    List<std::pair<std::size_t, std::size_t>> products_;  // of which columns the statistics after them are made
    List<std::size_t> squares_;                           // statistics
    List<Bend> bends_;
    List<double> move_, at_;
    List<float> beaten_;
    Measured<float> single_;
    Measured<double> precise_;
};

template <>
inline Pruning::Measured<float>& Pruning::measured() {
    return single_;
}
template <>
inline Pruning::Measured<double>& Pruning::measured() {
    return precise_;
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
