// Upper bounds on the drift of score differences, step by step (see Step in spans.hpp).

#include <cmath>

#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// In single precision, not below: the next number or the one after it where rounding went down.
inline float rounded_above(double value) {
    const float near = static_cast<float>(value), above = near + std::abs(near) * 2.4e-7f + 1e-44f;
    return static_cast<double>(near) < value ? above : near;
}

}  // namespace

void add_drift(const Moves& moves, std::size_t first, std::size_t last) {
    const std::size_t k = moves.components, width = moves.width;
    Buffer<double> change(k), squares(k);
    for (std::size_t z = first; z < last; ++z) {
        std::copy_n(moves.lifted, k, change.get());
        std::fill_n(squares.get(), k, 0.0);
        for (std::size_t f = 0; f < moves.n_statistics; ++f) {
            const double center = moves.centers[z * moves.n_statistics + f], unit = moves.scale[f];
            const double* moved = moves.moved + f * k;
            const double own = moved[z];
            for (std::size_t j = 0; j < k; ++j) {
                const double apart = (moved[j] - own) * unit;
                change.get()[j] += center * moved[j];
                squares.get()[j] += apart * apart;
            }
        }
        float *gained = moves.gained + z * width, *reached = moves.reached + z * width;
        const double own = change.get()[z];
        for (std::size_t j = 0; j < k; ++j) {
            moves.change[z * width + j] = static_cast<float>(change.get()[j]);
            change.get()[j] += moves.rounding - own;
            squares.get()[j] = 1.000001 * std::sqrt(squares.get()[j]);
            moves.apart[z * width + j] = rounded_above(squares.get()[j]);
            gained[j] = rounded_above(static_cast<double>(gained[j]) + change.get()[j]);
            reached[j] = rounded_above(static_cast<double>(reached[j]) + squares.get()[j]);
        }
        gained[z] = 0.0f;  // no component gains on itself
        double most_gained = -std::numeric_limits<double>::infinity(), most_apart = 0.0;
        bool known = true;
        for (std::size_t j = 0; j < k; ++j) {
            if (j != z) most_gained = std::max(most_gained, change.get()[j]);
            most_apart = std::max(most_apart, squares.get()[j]);
            known &= change.get()[j] - change.get()[j] == 0 && squares.get()[j] - squares.get()[j] == 0;
        }
        // A maximum ignores NaN.
        if (!known) most_apart = std::numeric_limits<double>::infinity();
        moves.most_gained[z] += k > 1 ? most_gained : 0.0;
        moves.most_apart[z] += most_apart;
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
