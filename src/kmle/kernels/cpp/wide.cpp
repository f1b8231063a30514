// The passes of wide.hpp, compiled once for each instruction set like passes.cpp.

#include "wide.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "simd.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Rows whose residuals are computed together, two registers of residuals each: as many sums as hide the latency.
constexpr std::size_t tile = vector_bytes == 64 ? 8 : 4;
constexpr std::size_t tile_registers = 2;
// Registers of rows and rows of A in the lane-by-lane first panel.
constexpr std::size_t strip = vector_bytes == 64 ? 4 : 2;

// Like broadcast, but free: x - 0 is x, so nothing is left of the subtraction, whereas 0 + x is not x for x = -0.
inline Vec<double> everywhere(double value) { return value - Vec<double>{}; }

// Adds the squares of one panel of residuals of `tile` rows to their sums.
void add_panel(const double* factor, const double* shift, std::size_t columns, const double* const (&rows)[tile],
               double (&sums)[tile]) {
    constexpr std::size_t width = lanes<double>, step = tile_registers * width;
    Vec<double> squares[tile] = {};
    for (std::size_t r = 0; r < panel; r += step) {
        Vec<double> residuals[tile][tile_registers];
        for (std::size_t t = 0; t < tile; ++t)
            for (std::size_t v = 0; v < tile_registers; ++v) residuals[t][v] = -load(shift + r + v * width);
        const double* coefficients = factor + r;
        for (std::size_t c = 0; c < columns; ++c, coefficients += panel) {
            Vec<double> loaded[tile_registers];
#pragma GCC unroll 2
            for (std::size_t v = 0; v < tile_registers; ++v) loaded[v] = load(coefficients + v * width);
#pragma GCC unroll 8
            for (std::size_t t = 0; t < tile; ++t) {
                const Vec<double> value = everywhere(rows[t][c]);
#pragma GCC unroll 2
                for (std::size_t v = 0; v < tile_registers; ++v) residuals[t][v] += loaded[v] * value;
            }
        }
        for (std::size_t t = 0; t < tile; ++t)
            for (std::size_t v = 0; v < tile_registers; ++v) squares[t] += residuals[t][v] * residuals[t][v];
    }
    for (std::size_t t = 0; t < tile; ++t)
        for (std::size_t lane = 0; lane < width; ++lane) sums[t] += squares[t][lane];
}

// Sums of the squares of the first panel of residuals of a whole block.
void first_panel(const double* leading, std::size_t columns, const double* factor, const double* shift,
                 double* sums) {
    constexpr std::size_t width = lanes<double>;
    for (std::size_t i = 0; i < wide_block; i += strip * width) {
        Vec<double> squares[strip] = {};
        for (std::size_t r = 0; r < panel; r += group) {
            Vec<double> residuals[group][strip];
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) residuals[g][v] = everywhere(-shift[r + g]);
            const std::size_t last = std::min(columns, r + group);  // A is triangular
            for (std::size_t c = 0; c < last; ++c) {
#pragma GCC unroll 4
                for (std::size_t g = 0; g < group; ++g) {
                    const Vec<double> coefficient = everywhere(factor[c * panel + r + g]);
#pragma GCC unroll 4
                    for (std::size_t v = 0; v < strip; ++v)
                        residuals[g][v] += coefficient * load(leading + c * wide_block + i + v * width);
                }
            }
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) squares[v] += residuals[g][v] * residuals[g][v];
        }
        for (std::size_t v = 0; v < strip; ++v) store(sums + i + v * width, squares[v]);
    }
}

// How far rounding may go. Two computations of the residuals, of any order of summation, differ by a vector no longer
// than 2 slack (|A| |y| + |shift|); two sums of their squares by a factor of 1 + 2 slack more.
struct Rounding {
    explicit Rounding(const WideModel& model)
        : model_(model), slack_(static_cast<double>(model.columns + 8) * epsilon) {}

    double residuals(std::size_t j, double norm) const {
        return 2 * slack_ * (model_.norms[j] * norm + model_.shift_norms[j]);
    }

    // A partial sum of squares above this proves that the exact score of j lies below `low`. From |a| + |b| the square
    // follows without a root: (a + b)^2 <= (1 + s) a^2 + (1 + 1/s) b^2 for any s > 0; half of s pays for `slack`.
    double limit(std::size_t j, double norm, double low) const {
        constexpr double s = 1.0 / (1 << 20);
        const double constant = model_.constants[j], length = residuals(j, norm);
        const double gap = 2 * (constant - low) + 8 * epsilon * (std::abs(constant) + std::abs(low));
        return gap < 0 ? -1.0 : (1 + 2 * s) * gap + (2 + 1 / s) * length * length;
    }

    // A bound on the distance of a score computed here, with this sum of squares, from the exact one.
    double score(std::size_t j, double norm, double sum) const {
        const double length = residuals(j, norm);
        return 2 * slack_ * (sum + std::abs(model_.constants[j])) + 2 * length * (std::sqrt(sum) + length);
    }

private:
    const WideModel& model_;
    double slack_;
};

// Rows still in the running for one component: where, their sum of squares so far and what it must not exceed.
struct Running {
    std::size_t count = 0;
    std::uint32_t places[wide_chunk];
    double sums[wide_chunk], limits[wide_chunk];

    // Branches would be mispredicted: every row is written and only those kept are counted.
    void offer(std::uint32_t place, double sum, double limit, bool wanted) {
        places[count] = place;
        sums[count] = sum;
        limits[count] = limit;
        count += wanted;
    }
};

// A score computed in full: no more than `high` when computed exactly.
struct Candidate {
    std::uint32_t place;
    std::int32_t component;
    double score, high;
};

// Scores so far below another one of the row add nothing to a sum of exponentials in double precision.
constexpr double negligible = 45.0;

class Chunk {
public:
    Chunk(const WideData& data, const WideModel& model) : data_(data), model_(model), rounding_(model) {}

    std::int64_t settle(std::size_t first, std::int32_t* labels) {
        score(first, labels, 0.0);
        return finish(labels);
    }

    void weigh(std::size_t first, const std::int32_t* labels, double* evidence, double* entropies) {
        score(first, labels, negligible);
        double *tops = low_, totals[wide_chunk] = {}, below[wide_chunk] = {};
        std::fill_n(tops, wide_chunk, -infinity);
        for (const Candidate& candidate : candidates_)
            tops[candidate.place] = std::max(tops[candidate.place], candidate.score);
        for (const Candidate& candidate : candidates_) {
            const double distance = candidate.score - tops[candidate.place], share = std::exp(distance);
            totals[candidate.place] += share;
            below[candidate.place] += share * distance;
        }
        for (std::size_t i = 0; i < count_; ++i) {
            const bool dead = totals[i] == 0.0;  // as every component is
            evidence[i] = dead ? -infinity : tops[i] + std::log(totals[i]);
            entropies[i] = dead ? 0.0 : std::log(totals[i]) - below[i] / totals[i];
        }
    }

private:
    // Scores the rows from `first` on in full with every component that comes within `reach` of their best.
    void score(std::size_t first, const std::int32_t* labels, double reach) {
        first_ = first;
        count_ = std::min(wide_chunk, data_.rows - first);
        reach_ = reach;
        std::fill_n(low_, wide_chunk, -infinity);
        candidates_.clear();
        start(labels);
        score_starts();
        for (std::size_t j = 0; j < model_.components; ++j)
            if (model_.alive(j)) challenge(j);
    }

    // The component to score first: the label of the last pass, or the best one by the leading columns.
    void start(const std::int32_t* labels) {
        bool guess = false;
        for (std::size_t i = 0; i < count_; ++i) {
            starts_[i] = labels[i];
            guess |= labels[i] < 0 || !model_.alive(static_cast<std::size_t>(labels[i]));
        }
        if (!guess) return;
        for (std::size_t b = 0; b < count_; b += wide_block) {
            double best[wide_block];
            std::int32_t winner[wide_block];
            std::fill_n(best, wide_block, -infinity);
            std::fill_n(winner, wide_block, -1);
            for (std::size_t j = 0; j < model_.components; ++j) {
                if (!model_.alive(j)) continue;
                first_sums(j, b);
                for (std::size_t r = 0; r < wide_block; ++r) {
                    const double score = model_.guesses[j] - 0.5 * block_sums_[r];
                    const bool better = score > best[r] || winner[r] < 0;
                    best[r] = better ? score : best[r];
                    winner[r] = better ? static_cast<std::int32_t>(j) : winner[r];
                }
            }
            for (std::size_t i = b; i < std::min(count_, b + wide_block); ++i)
                if (starts_[i] < 0 || !model_.alive(static_cast<std::size_t>(starts_[i]))) starts_[i] = winner[i - b];
        }
    }

    void score_starts() {
        for (std::size_t j = 0; j < model_.components; ++j) {
            if (!model_.alive(j)) continue;
            running_.count = 0;
            for (std::size_t i = 0; i < count_; ++i)
                running_.offer(static_cast<std::uint32_t>(i), 0.0, infinity,
                               starts_[i] == static_cast<std::int32_t>(j));
            run(j, 0);
        }
    }

    // Scores component j with the rows that do not start from it, as far as it may win.
    void challenge(std::size_t j) {
        running_.count = 0;
        for (std::size_t b = 0; b < count_; b += wide_block) {
            first_sums(j, b);
            for (std::size_t r = 0; r < wide_block; ++r)
                block_limits_[r] = rounding_.limit(j, data_.norms[first_ + b + r], low_[b + r] - reach_);
            const std::size_t last = std::min(wide_block, count_ - b);
            for (std::size_t r = 0; r < last; ++r)
                running_.offer(static_cast<std::uint32_t>(b + r), block_sums_[r], block_limits_[r],
                               !(block_sums_[r] > block_limits_[r]) & (starts_[b + r] != static_cast<std::int32_t>(j)));
        }
        run(j, 1);
    }

    // Adds panel after panel, dropping the rows that pass their limit; those that are left are candidates.
    void run(std::size_t j, std::size_t first_panel) {
        for (std::size_t p = first_panel; p < model_.panels() && running_.count; ++p) {
            const std::size_t before = running_.count;
            running_.count = 0;
            for (std::size_t i = 0; i < before; i += tile) {
                const double* rows[tile];
                std::uint32_t places[tile];
                double sums[tile], limits[tile];
                for (std::size_t t = 0; t < tile; ++t) {
                    const std::size_t from = std::min(i + t, before - 1);  // the last row fills the tile
                    places[t] = running_.places[from];
                    sums[t] = running_.sums[from];
                    limits[t] = running_.limits[from];
                    rows[t] = row(places[t]);
                }
                add_panel(model_.factor(j, p), model_.shift(j, p), model_.panel_columns(p), rows, sums);
                for (std::size_t t = 0; t < std::min(tile, before - i); ++t)
                    running_.offer(places[t], sums[t], limits[t], !(sums[t] > limits[t]));
            }
        }
        for (std::size_t i = 0; i < running_.count; ++i) {
            const std::uint32_t place = running_.places[i];
            const double score = model_.constants[j] - 0.5 * running_.sums[i];
            const double error = rounding_.score(j, data_.norms[first_ + place], running_.sums[i]);
            candidates_.push_back({place, static_cast<std::int32_t>(j), score, score + error});
            if (score - error > low_[place]) low_[place] = score - error;
        }
    }

    // The winner of each row: its only candidate that may still win, or the best of those by exact scores.
    std::int64_t finish(std::int32_t* labels) {
        const auto beaten = [&](const Candidate& candidate) { return candidate.high < low_[candidate.place]; };
        candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), beaten), candidates_.end());
        std::fill_n(winners_, count_, -1);
        std::fill_n(tied_, count_, false);
        for (const Candidate& candidate : candidates_) {
            tied_[candidate.place] = winners_[candidate.place] >= 0;
            winners_[candidate.place] = candidate.component;
        }
        std::fill_n(low_, count_, -infinity);  // from here on the best exact score
        for (const Candidate& candidate : candidates_) {
            if (!tied_[candidate.place]) continue;
            double& best = low_[candidate.place];
            std::int32_t& winner = winners_[candidate.place];
            const auto component = static_cast<std::size_t>(candidate.component);
            const double score = exact_wide_score(model_, component, row(candidate.place));
            if (score > best || (score == best && candidate.component < winner)) {
                best = score;
                winner = candidate.component;
            }
        }
        std::int64_t changed = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const std::int32_t label = std::max(winners_[i], 0);  // with every component dead, the first
            changed += label != labels[i];
            labels[i] = label;
        }
        return changed;
    }

    void first_sums(std::size_t j, std::size_t place) {
        first_panel(data_.leading + (first_ + place) * data_.lead(), data_.lead(), model_.factor(j, 0),
                    model_.shift(j, 0), block_sums_);
    }

    const double* row(std::uint32_t place) const { return data_.values + (first_ + place) * data_.columns; }

    const WideData& data_;
    const WideModel& model_;
    Rounding rounding_;
    std::size_t first_ = 0, count_ = 0;
    double reach_ = 0.0;
    alignas(64) double block_sums_[wide_block];
    alignas(64) double block_limits_[wide_block];
    alignas(64) double low_[wide_chunk];  // the best score of each row is known to be at least this
    std::int32_t starts_[wide_chunk], winners_[wide_chunk];
    bool tied_[wide_chunk];
    Running running_;
    std::vector<Candidate> candidates_;
};

}  // namespace

}  // namespace KMLE_INSTRUCTION_SET

std::int64_t KMLE_WIDE_FUNCTION(const WideData& data, const WideModel& model, std::size_t chunk, std::int32_t* labels) {
    const auto work = std::make_unique<KMLE_INSTRUCTION_SET::Chunk>(data, model);
    return work->settle(chunk * wide_chunk, labels + chunk * wide_chunk);
}

void KMLE_WIDE_EVIDENCE_FUNCTION(const WideData& data, const WideModel& model, std::size_t chunk,
                                 const std::int32_t* labels, double* evidence, double* entropies) {
    const auto work = std::make_unique<KMLE_INSTRUCTION_SET::Chunk>(data, model);
    const std::size_t first = chunk * wide_chunk;
    work->weigh(first, labels + first, evidence + first, entropies + first);
}

}  // namespace kmle
