// Scores of soft passes whose rounding error may be too large, computed again by differences to means.
//
// An error bound is known for each component and some rows together. Scores of a component with a bound above the limit
// are replaced where they matter: where, given the bounds, its responsibility for a row may be more than negligible.
// (Filtered predicates, Shewchuk 1997.)

#pragma once

#include "dense/centered.hpp"
#include "dense/log_likelihood.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

template <class T>
class Rescoring {
public:
    // Rows whose scores have the same bounds.
    static constexpr std::size_t rows_at_once = 256;

    // No score is to have a larger rounding error than the limit.
    Rescoring(const Packed<T>& packed, const Model<double>& model, double limit = score_error,
              bool all_centered = false)
        : packed_(packed), centered_(model.centered), limit_(limit), all_centered_(all_centered && centered_),
          components_(model.components), padded_(model.padded()), tops_(centered_ ? packed.n_statistics : 0),
          errors_(centered_ ? padded_ : 0), space_(centered_ ? centered_->columns * soft_rows : 0), lifts_(soft_rows) {
        if (!centered_) return;
        for (std::size_t j = 0; j < components_; ++j)
            if (centered_->active(j)) active_.push_back(j);
        if (all_centered_) uncertain_ = active_;
    }

    // For the rows of the next blocks, from `first` up to `last`.
    void open(std::size_t first, std::size_t last) {
        if (!centered_ || all_centered_) return;
        find_tops(first / block_rows<T>,
                  rounded_up(std::min(first + rows_at_once, last), block_rows<T>) / block_rows<T>);
        double* errors = errors_.get();
        std::copy_n(centered_->magnitudes, padded_, errors);
        for (std::size_t f = 0; f < packed_.n_statistics; ++f) {
            const double *magnitudes = centered_->magnitudes + (f + 1) * padded_, top = tops_.get()[f];
            for (std::size_t j = 0; j < padded_; ++j) errors[j] += top * magnitudes[j];
        }
        constexpr double epsilon = std::numeric_limits<double>::epsilon();
        const double roundings = static_cast<double>(packed_.n_statistics + 5);
        uncertain_.clear();
        for (const std::size_t j : active_) {
            errors[j] *= epsilon;
            if (!(errors[j] <= limit_)) uncertain_.push_back(j);  // NaN too
            errors[j] *= roundings;
        }
    }

    // Whether no score need be computed by statistics.
    bool replaces_all() const { return !uncertain_.empty() && uncertain_.size() == active_.size(); }

    // Replaces scores [component][row] of rows with these columns where they may be wrong and matter. Returns what the
    // rows' scores are too low by now, or null where that is nothing.
    const double* improve(const double* columns, double* scores, std::int64_t& rescored) {
        if (!centered_ || uncertain_.empty()) return nullptr;
        if (replaces_all()) {
            for (std::size_t j = 0; j < components_; ++j)
                if (!centered_->active(j))
                    std::fill_n(scores + j * soft_rows, soft_rows, -std::numeric_limits<double>::infinity());
            return replace(active_, columns, scores, rescored);
        }
        find_lowest(scores);
        chosen_.clear();
        for (const std::size_t j : uncertain_)
            if (matters(scores + j * soft_rows, errors_.get()[j])) chosen_.push_back(j);
        if (chosen_.empty()) return nullptr;
        return replace(centered_->carried ? active_ : chosen_, columns, scores, rescored);
    }

private:
    // The largest statistics of the rows of some blocks.
    void find_tops(std::size_t block, std::size_t end) {
        const std::size_t columns = packed_.columns;
        double* tops = tops_.get();
        std::copy_n(packed_.largest + block * columns, columns, tops);
        for (std::size_t b = block + 1; b < end; ++b)
            for (std::size_t a = 0; a < columns; ++a) tops[a] = std::max(tops[a], packed_.largest[b * columns + a]);
        if (packed_.features == Features::identity) return;
        for (std::size_t a = 0, f = columns; a < columns; ++a)
            for (std::size_t b = a; b < (packed_.features == Features::diagonal ? a + 1 : columns); ++b)
                tops[f++] = tops[a] * tops[b];
    }

    // A lower bound on the highest score of each row.
    void find_lowest(const double* scores) {
        for (std::size_t r = 0; r < soft_rows; r += lanes<double>) {
            Vec<double> highest = broadcast(-std::numeric_limits<double>::infinity());
            for (const std::size_t j : active_) {
                const Vec<double> least = load(scores + j * soft_rows + r) - broadcast(errors_.get()[j]);
                highest = least > highest ? least : highest;
            }
            store(lifts_.get() + r, highest);
        }
    }

    // Whether a component with these scores may have a responsibility that counts, for any row.
    bool matters(const double* scores, double error) const {
        IntVec<double> counts{};
        for (std::size_t r = 0; r < soft_rows; r += lanes<double>)
            counts |= ~(load(scores + r) + broadcast(error) <= load(lifts_.get() + r) + broadcast(negligible));
        return any(counts);
    }

    const double* replace(const List<std::size_t>& chosen, const double* columns, double* scores,
                          std::int64_t& rescored) {
        for (const std::size_t j : chosen)
            centered_scores(*centered_, j, columns, space_.get(), scores + j * soft_rows);
        rescored += static_cast<std::int64_t>(chosen.size() * soft_rows);
        if (!centered_->carried || all_centered_) return nullptr;
        half_squares(*centered_, active_.front(), columns, space_.get(), lifts_.get());
        return lifts_.get();
    }

    const Packed<T>& packed_;
    const Centered* centered_;
    double limit_;
    bool all_centered_;  // and what packed scores exceed them by is left out
    std::size_t components_, padded_;
    Buffer<double> tops_, errors_, space_, lifts_;
    List<std::size_t> active_, uncertain_, chosen_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
