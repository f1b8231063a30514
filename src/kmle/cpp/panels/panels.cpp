// The passes of panels.hpp, compiled once for each instruction set like passes.cpp.

#include "panels/panels.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/list.hpp"
#include "panels/residuals.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Rows still in the running for one component: where, their sum of squares so far and what it must not exceed.
struct Running {
    std::size_t count = 0;
    std::uint32_t places[panels_chunk];
    double sums[panels_chunk], limits[panels_chunk];

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
    Chunk(const PanelsData& data, const PanelsModel& model) : data_(data), model_(model), rounding_(model) {}

    std::int64_t label_rows(std::size_t first, std::int32_t* labels) {
        score(first, labels, 0.0);
        return finish(labels);
    }

    // Rows from `first` on; places in what is written count from the first row of all.
    void weigh(std::size_t first, const std::int32_t* labels, const RowScores& out, double* entropies) {
        if (out.scores)
            score_all(first, out.scores);
        else
            score(first, labels, negligible);
        double *tops = low_, totals[panels_chunk] = {}, below[panels_chunk] = {};
        std::fill_n(tops, panels_chunk, -infinity);
        for (const Candidate& candidate : candidates_)
            tops[candidate.place] = std::max(tops[candidate.place], candidate.score);
        for (const Candidate& candidate : candidates_) {
            const double distance = candidate.score - tops[candidate.place], share = std::exp(distance);
            totals[candidate.place] += share;
            below[candidate.place] += share * distance;
        }
        for (std::size_t i = 0; i < count_; ++i) {
            const bool inactive = totals[i] == 0.0;  // as every component is
            if (out.log_sums) out.log_sums[first + i] = inactive ? -infinity : tops[i] + std::log(totals[i]);
            if (out.tops) out.tops[first + i] = tops[i];
            if (entropies) entropies[first + i] = inactive ? 0.0 : std::log(totals[i]) - below[i] / totals[i];
        }
        if (!out.shares) return;
        std::fill_n(out.shares + first * model_.components, count_ * model_.components, 0.0);
        for (const Candidate& candidate : candidates_)
            share_of(out.shares, candidate) =
                std::exp(candidate.score - tops[candidate.place]) / totals[candidate.place];
    }

    // The members of each component, weighted, and where they begin; returns the sum of the log-likelihood. Labels are
    // where to begin, and become the best components.
    double share(std::size_t first, std::int32_t* labels, const double* weights, std::size_t kept, Member* members,
                 std::uint32_t* edges) {
        score(first, labels, negligible);
        if (kept < model_.components) keep_largest(kept);
        double *tops = low_, totals[panels_chunk] = {};
        std::fill_n(tops, panels_chunk, -infinity);
        for (const Candidate& candidate : candidates_)
            if (candidate.score > tops[candidate.place]) {
                tops[candidate.place] = candidate.score;
                labels[candidate.place] = candidate.component;
            }
        for (Candidate& candidate : candidates_) {
            const double distance = candidate.score - tops[candidate.place];
            // From here on the score is the share. A component that was only tried first may be out of reach.
            candidate.score = distance < -negligible ? 0.0 : std::exp(distance);
            totals[candidate.place] += candidate.score;
        }
        double log_likelihood = 0.0;
        for (std::size_t i = 0; i < count_; ++i) {
            const double weight = weights ? weights[i] : 1.0;
            if (weight > 0.0) log_likelihood += weight * (tops[i] + std::log(totals[i]));
            totals[i] = weight / totals[i];
        }
        for (Candidate& candidate : candidates_) candidate.score *= totals[candidate.place];
        list(members, edges);
        return log_likelihood;
    }

private:
    // The shares that are not zero, component by component.
    void list(Member* members, std::uint32_t* edges) const {
        std::fill_n(edges, model_.components + 1, 0);
        for (const Candidate& candidate : candidates_) edges[candidate.component + 1] += candidate.score > 0.0;
        for (std::size_t j = 0; j < model_.components; ++j) edges[j + 1] += edges[j];
        for (const Candidate& candidate : candidates_)
            if (candidate.score > 0.0)
                members[edges[candidate.component]++] = {static_cast<std::uint32_t>(first_) + candidate.place,
                                                         candidate.score};
        for (std::size_t j = model_.components; j > 0; --j) edges[j] = edges[j - 1];
        edges[0] = 0;
    }

    // Leaves each row its candidates with the largest scores, the lowest components among equals.
    void keep_largest(std::size_t kept) {
        std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            if (a.place != b.place) return a.place < b.place;
            return a.score != b.score ? a.score > b.score : a.component < b.component;
        });
        std::size_t left = 0, of_row = 0;
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            of_row = i > 0 && candidates_[i].place == candidates_[i - 1].place ? of_row + 1 : 0;
            if (of_row < kept) candidates_[left++] = candidates_[i];
        }
        candidates_.resize(left);
    }

    // The place of a candidate in a table of [row][component].
    double& share_of(double* table, const Candidate& candidate) const {
        return table[(first_ + candidate.place) * model_.components + static_cast<std::size_t>(candidate.component)];
    }

    // Scores the rows from `first` on in full with every component; those that are inactive score -inf.
    void score_all(std::size_t first, double* scores) {
        first_ = first;
        count_ = std::min(panels_chunk, data_.rows - first);
        std::fill_n(low_, panels_chunk, -infinity);
        candidates_.clear();
        std::fill_n(scores + first * model_.components, count_ * model_.components, -infinity);
        for (std::size_t j = 0; j < model_.components; ++j) {
            if (!model_.active(j)) continue;
            running_.count = 0;
            for (std::size_t i = 0; i < count_; ++i) running_.offer(static_cast<std::uint32_t>(i), 0.0, infinity, true);
            run(j, 0);
        }
        for (const Candidate& candidate : candidates_) share_of(scores, candidate) = candidate.score;
    }

    // Scores the rows from `first` on in full with every component that comes within `reach` of their best.
    void score(std::size_t first, const std::int32_t* labels, double reach) {
        first_ = first;
        count_ = std::min(panels_chunk, data_.rows - first);
        reach_ = reach;
        std::fill_n(low_, panels_chunk, -infinity);
        candidates_.clear();
        start(labels);
        score_starts();
        for (std::size_t j = 0; j < model_.components; ++j)
            if (model_.active(j)) challenge(j);
    }

    // The component to score first: the label of the last pass, or the best one by the leading columns.
    void start(const std::int32_t* labels) {
        bool guess = false;
        for (std::size_t i = 0; i < count_; ++i) {
            starts_[i] = labels[i];
            guess |= labels[i] < 0 || !model_.active(static_cast<std::size_t>(labels[i]));
        }
        if (!guess) return;
        for (std::size_t b = 0; b < count_; b += panels_block) {
            double best[panels_block];
            std::int32_t winner[panels_block];
            std::fill_n(best, panels_block, -infinity);
            std::fill_n(winner, panels_block, -1);
            for (std::size_t j = 0; j < model_.components; ++j) {
                if (!model_.active(j)) continue;
                first_sums(j, b);
                for (std::size_t r = 0; r < panels_block; ++r) {
                    const double score = model_.guesses[j] - 0.5 * block_sums_[r];
                    const bool better = score > best[r] || winner[r] < 0;
                    best[r] = better ? score : best[r];
                    winner[r] = better ? static_cast<std::int32_t>(j) : winner[r];
                }
            }
            for (std::size_t i = b; i < std::min(count_, b + panels_block); ++i)
                if (starts_[i] < 0 || !model_.active(static_cast<std::size_t>(starts_[i]))) starts_[i] = winner[i - b];
        }
    }

    void score_starts() {
        for (std::size_t j = 0; j < model_.components; ++j) {
            if (!model_.active(j)) continue;
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
        for (std::size_t b = 0; b < count_; b += panels_block) {
            first_sums(j, b);
            for (std::size_t r = 0; r < panels_block; ++r)
                block_limits_[r] = rounding_.limit(j, data_.norms[first_ + b + r], low_[b + r] - reach_);
            const std::size_t last = std::min(panels_block, count_ - b);
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
            const double score = exact_panels_score(model_, component, row(candidate.place));
            if (score > best || (score == best && candidate.component < winner)) {
                best = score;
                winner = candidate.component;
            }
        }
        std::int64_t changed = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const std::int32_t label = std::max(winners_[i], 0);  // with every component inactive, the first
            changed += label != labels[i];
            labels[i] = label;
        }
        return changed;
    }

    void first_sums(std::size_t j, std::size_t place) {
        first_panel(data_.leading + (first_ + place) * data_.leading_columns(), data_.leading_columns(),
                    model_.factor(j, 0), model_.shift(j, 0), block_sums_);
    }

    const double* row(std::uint32_t place) const { return data_.values + (first_ + place) * data_.columns; }

    const PanelsData& data_;
    const PanelsModel& model_;
    Rounding rounding_;
    std::size_t first_ = 0, count_ = 0;
    double reach_ = 0.0;
    alignas(64) double block_sums_[panels_block];
    alignas(64) double block_limits_[panels_block];
    alignas(64) double low_[panels_chunk];  // the best score of each row is known to be at least this
    std::int32_t starts_[panels_chunk], winners_[panels_chunk];
    bool tied_[panels_chunk];
    Running running_;
    List<Candidate> candidates_;
};

}  // namespace

std::int64_t label_panels(const PanelsData& data, const PanelsModel& model, std::size_t chunk, std::int32_t* labels) {
    return std::make_unique<Chunk>(data, model)->label_rows(chunk * panels_chunk, labels + chunk * panels_chunk);
}

void score_panels(const PanelsData& data, const PanelsModel& model, std::size_t chunk, const std::int32_t* labels,
                  const RowScores& out, double* entropies) {
    const std::size_t first = chunk * panels_chunk;
    std::make_unique<Chunk>(data, model)->weigh(first, labels + first, out, entropies);
}

double share_panels(const PanelsData& data, const PanelsModel& model, std::size_t chunk, std::int32_t* labels,
                    const double* weights, std::size_t kept, Member* members, std::uint32_t* edges) {
    const std::size_t first = chunk * panels_chunk;
    return std::make_unique<Chunk>(data, model)
        ->share(first, labels + first, weights ? weights + first : nullptr, kept, members, edges);
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
