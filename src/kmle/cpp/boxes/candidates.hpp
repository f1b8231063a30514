// Components that may win in a box of columns (filtering: Kanungo et al. 2002, Pelleg and Moore 1999).
//
// Places in a box are measured from its center in half widths, so that each coordinate u_a lies in [-1, 1]. Scores are
// the same kind of function of u as of the columns: a constant and <t(u), coefficients>. Only their differences matter,
// so that of the best component at the center is subtracted from all. What is left is about as large as scores differ
// within the box, and single precision is enough for it, however large the scores are.

#pragma once

#include <memory>

#include "core/memory.hpp"
#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

struct Box {
    const double *center, *half;  // [column]

    double place(std::size_t a, double x) const { return half[a] > 0 ? (x - center[a]) / half[a] : 0.0; }
};

template <class Real>
class Candidates {
public:
    explicit Candidates(std::size_t n_statistics) : n_statistics_(n_statistics) {}

    // Empties the list and makes room for `most` candidates, and for what is written past the last.
    void open(const Box& where, std::size_t most) {
        box = where;
        count = 0;
        if (rounded_up(most, width) + width <= room_) return;
        room_ = rounded_up(most, width) + width;
        names_ = aligned<std::int32_t>(room_);
        values_ = aligned<Real>(room_ * (1 + n_statistics_));
    }

    void add(std::int32_t name, double bias, const double* natural) {
        names()[count] = name;
        margin()[count] = static_cast<Real>(bias);
        for (std::size_t f = 0; f < n_statistics_; ++f) coefficients(f)[count] = static_cast<Real>(natural[f]);
        ++count;
    }

    // Pads to whole vectors, with components that never win.
    void close() {
        std::fill_n(margin() + count, width, -std::numeric_limits<Real>::infinity());
        for (std::size_t f = 0; f < n_statistics_; ++f) std::fill_n(coefficients(f) + count, width, Real(0));
    }

    std::int32_t* names() const { return names_.get(); }
    Real* margin() const { return values_.get(); }  // at the center
    Real* coefficients(std::size_t f) const { return values_.get() + (1 + f) * room_; }
    std::size_t stride() const {
        return room_;
    }  // from the margins to the first coefficients, and from those to the next

    Box box{};
    std::size_t count = 0;
    double error_bound = 0.0;  // a bound on the error of the difference of any two scores, but for their last rounding
    double size = 0.0;         // an upper bound on the sum of the absolute terms of any score

private:
    static constexpr std::size_t width = 16;  // lanes of the widest vectors

    std::size_t n_statistics_, room_ = 0;
    Aligned<std::int32_t> names_;
    Aligned<Real> values_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
