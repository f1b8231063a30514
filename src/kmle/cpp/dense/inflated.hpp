// Scores in single precision, inflated by a bound on their rounding error (filtered predicates, Shewchuk 1997).
//
// The score of a component in double precision is at most its inflated score, and at least that minus twice its error
// bound. So the component with the highest inflated score is the best one wherever its margin over all others exceeds
// that. Steep components, whose scores are large numbers, have larger error bounds: few rows are near them, and only
// those are uncertain because of them.

#pragma once

#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

class Inflated {
public:
    // Where labels are to be those of centered scores, their rounding counts too.
    explicit Inflated(const Model<float>& model, const Centered* centered = nullptr)
        : given_(model), centered_(centered), inflated_(model),
          top_(*std::max_element(model.largest, model.largest + model.n_statistics)), tops_(model.n_statistics),
          bias_(model.padded()), error_bounds_(model.padded()), reach_(centered ? model.padded() : 0) {
        inflated_.grouped_bias = bias_.get();
    }

    // For rows whose columns, of which `largest` bounds the size, may be in double precision. False where single
    // precision may not hold their scores.
    bool open(Features features, std::size_t columns, const double* largest) {
        const std::size_t padded = given_.padded(), n_statistics = given_.n_statistics;
        const double column = *std::max_element(largest, largest + columns);
        if (!(column <= largest_column && top_ <= largest_coefficient)) return false;
        float* tops = tops_.get();
        std::copy_n(largest, columns, tops);
        if (features != Features::identity)
            for (std::size_t a = 0, f = columns; a < columns; ++a)
                for (std::size_t b = a; b < (features == Features::diagonal ? a + 1 : columns); ++b)
                    tops[f++] = tops[a] * tops[b];
        float* error_bounds = error_bounds_.get();
        std::copy_n(given_.magnitudes, padded, error_bounds);
        for (std::size_t f = 0; f < n_statistics; ++f) {
            const float *magnitudes = given_.magnitudes + (f + 1) * padded, top = tops[f];
            for (std::size_t j = 0; j < padded; ++j) error_bounds[j] += top * magnitudes[j];
        }
        if (centered_) add_centered(largest);
        // Every term of a score is rounded at most four times before it is added (coefficient, column, product,
        // weight), the bias once when it is inflated, and all of them once with every addition, by half an epsilon
        // each; a quarter more is for the rounding of the bound itself. The last term is for underflow.
        const float roundings = 0.625f * static_cast<float>(n_statistics + 6) * std::numeric_limits<float>::epsilon();
        // (Not below the smallest normal number: processors are slow with others.)
        const float lost =
            std::max(static_cast<float>(lost_in_single(n_statistics, column, top_)), std::numeric_limits<float>::min());
        float most = 0.0f;
        bool bounded = true;
        for (std::size_t j = 0; j < padded; ++j) {
            const float raise = roundings * error_bounds[j] + lost;
            most = error_bounds[j] > most ? error_bounds[j] : most;
            bounded &= error_bounds[j] < largest_score;  // NaN is not
            bias_.get()[j] = given_.grouped_bias[j] + raise;
            error_bounds[j] = 2 * raise;
        }
        largest_error_bound_ = 2 * (roundings * most + lost);
        return bounded;
    }

    const Model<float>& model() const { return inflated_; }

    // The margin that a component with the highest inflated score must have, and the largest such margin.
    const float* error_bounds() const { return error_bounds_.get(); }
    float largest_error_bound() const { return largest_error_bound_; }

private:
    // Scores up to here, and all that is added up on the way, are far from overflow.
    static constexpr float largest_score = 1e37f;

    // The rounding in double precision of scores by differences to means: of terms no larger than the squared
    // length of L^T (|x| + |mean|), a share that is generous for the rounding of L and the mean themselves.
    void add_centered(const double* largest) {
        constexpr float share = 0.01f;
        const std::size_t padded = given_.padded();
        float *reach = reach_.get(), *error_bounds = error_bounds_.get();
        std::copy_n(centered_->reach, padded, reach);
        for (std::size_t a = 0; a < centered_->columns; ++a) {
            const float *length = centered_->reach + (a + 1) * padded,
                        top = static_cast<float>(largest[centered_->places[a]]);
            for (std::size_t j = 0; j < padded; ++j) reach[j] += top * length[j];
        }
        for (std::size_t j = 0; j < padded; ++j) error_bounds[j] += share * reach[j] * reach[j];
    }

    const Model<float>& given_;
    const Centered* centered_;
    Model<float> inflated_;
    double top_;
    Buffer<float> tops_, bias_, error_bounds_, reach_;
    float largest_error_bound_ = 0.0f;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
