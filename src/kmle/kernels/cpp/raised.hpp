// Scores in single precision, raised by what rounding may have taken from them.
//
// The score of a component in double precision is at most its raised score, and at least that minus twice what it was
// raised by. So the component with the highest raised score is the best one wherever it leads by that over all others.
// Steep components, whose scores are large numbers, are raised more than others: few rows are near them, and only those
// are in doubt for their sake.

#pragma once

#include "tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

class Raised {
public:
    // Where labels are to be those of centred scores, their rounding counts too.
    explicit Raised(const Model<float>& model, const Centred* centred = nullptr)
        : given_(model), centred_(centred), raised_(model),
          top_(*std::max_element(model.largest, model.largest + model.order)), tops_(model.order),
          bias_(model.padded()), doubts_(model.padded()), reach_(centred ? model.padded() : 0) {
        raised_.grouped_bias = bias_.get();
    }

    // For rows whose columns, of which `largest` bounds the size, may be in double precision. False where single
    // precision may not hold their scores.
    bool open(Features features, std::size_t columns, const double* largest) {
        const std::size_t padded = given_.padded(), order = given_.order;
        const double column = *std::max_element(largest, largest + columns);
        if (!(column <= largest_column && top_ <= largest_coefficient)) return false;
        float* tops = tops_.get();
        std::copy_n(largest, columns, tops);
        if (features != Features::identity)
            for (std::size_t a = 0, f = columns; a < columns; ++a)
                for (std::size_t b = a; b < (features == Features::diagonal ? a + 1 : columns); ++b)
                    tops[f++] = tops[a] * tops[b];
        float* doubts = doubts_.get();
        std::copy_n(given_.magnitudes, padded, doubts);
        for (std::size_t f = 0; f < order; ++f) {
            const float *magnitudes = given_.magnitudes + (f + 1) * padded, top = tops[f];
            for (std::size_t j = 0; j < padded; ++j) doubts[j] += top * magnitudes[j];
        }
        if (centred_) add_centred(largest);
        // Every term of a score is rounded at most four times before it is added (coefficient, column, product,
        // weight), the bias once when it is raised, and all of them once with every addition, by half an epsilon each;
        // a quarter more is for the rounding of the bound itself. The rest is lost below the smallest number.
        const float roundings = 0.625f * static_cast<float>(order + 6) * std::numeric_limits<float>::epsilon();
        // (Not below the smallest normal number: processors are slow with others.)
        const float lost =
            std::max(static_cast<float>(lost_in_single(order, column, top_)), std::numeric_limits<float>::min());
        float most = 0.0f;
        bool bounded = true;
        for (std::size_t j = 0; j < padded; ++j) {
            const float raise = roundings * doubts[j] + lost;
            most = doubts[j] > most ? doubts[j] : most;
            bounded &= doubts[j] < largest_score;  // NaN is not
            bias_.get()[j] = given_.grouped_bias[j] + raise;
            doubts[j] = 2 * raise;
        }
        largest_doubt_ = 2 * (roundings * most + lost);
        return bounded;
    }

    const Model<float>& model() const { return raised_; }

    // By how much a component with the highest raised score has to lead, and the most any has to.
    const float* doubts() const { return doubts_.get(); }
    float largest_doubt() const { return largest_doubt_; }

private:
    // Scores up to here, and all that is added up on the way, are far from overflow.
    static constexpr float largest_score = 1e37f;

    // What rounding in double precision takes from scores by differences to means: of terms no larger than the squared
    // length of L^T (|x| + |mean|), a share that is generous for the rounding of L and the mean themselves.
    void add_centred(const double* largest) {
        constexpr float share = 0.01f;
        const std::size_t padded = given_.padded();
        float *reach = reach_.get(), *doubts = doubts_.get();
        std::copy_n(centred_->reach, padded, reach);
        for (std::size_t a = 0; a < centred_->columns; ++a) {
            const float *length = centred_->reach + (a + 1) * padded,
                        top = static_cast<float>(largest[centred_->places[a]]);
            for (std::size_t j = 0; j < padded; ++j) reach[j] += top * length[j];
        }
        for (std::size_t j = 0; j < padded; ++j) doubts[j] += share * reach[j] * reach[j];
    }

    const Model<float>& given_;
    const Centred* centred_;
    Model<float> raised_;
    double top_;
    Buffer<float> tops_, bias_, doubts_, reach_;
    float largest_doubt_ = 0.0f;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
