// Rows that are examined together: their scores with some components, in single precision.

#pragma once

#include "dense/labelling.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

using Line = Vec<float>;
using Names = IntVec<float>;

// Numbers that need not be aligned.
template <class V, class S>
inline V taken(const S* from) {
    V value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline float smallest(Line values) {
    typedef float Part __attribute__((vector_size(16)));
    Part parts[vector_bytes / 16];
    std::memcpy(parts, &values, sizeof values);
    Part least = parts[0];
    for (std::size_t p = 1; p < vector_bytes / 16; ++p) least = parts[p] < least ? parts[p] : least;
    return std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
}

// The components to score, the labels of the rows before, and what was found.
class Batch {
public:
    List<std::int32_t> names;            // of the components to be scored, `named` of them
    std::size_t named = 0, present = 0;  // `present`: the labels of the rows, which come first
    List<float> margin_bounds;           // lower bounds on the margins of the rows over each
    alignas(64) std::int32_t before[batch_rows], open[batch_rows];
    alignas(64) float own[batch_rows], top[batch_rows], second[batch_rows];

    explicit Batch(const Model<float>& model)
        : names(model.components + lanes<float>), margin_bounds(model.components + group), model_(model),
          scores_(rounded_up(model.components, group) * batch_rows), nothing_(model.n_statistics * group) {}

    // Names those of the components from j on whose bits are set.
    void add_names(std::size_t j, unsigned bits) {
        if (bits == 0) return;
        Names numbers;
        for (std::size_t lane = 0; lane < lanes<float>; ++lane) numbers[lane] = static_cast<std::int32_t>(j + lane);
        store_chosen(reinterpret_cast<float*>(names.data()) + named, (Line)numbers, bits);  // bits as they are
        named += static_cast<std::size_t>(__builtin_popcount(bits));
    }

    Fetching next;  // memory that is needed soon is fetched while scores are computed

    // The best and the second best of the components named, and the margins of the rows over each.
    void score(const float* statistics, const std::int32_t* labels, std::size_t count) {
        std::copy_n(labels, count, before);
        std::fill(before + count, before + batch_rows, names[0]);
        for (std::size_t r = 0; r < batch_rows; r += strip * lanes<float>) score_strip(statistics + r, r, count);
    }

    // Marks the rows whose label is not the one before, or uncertain; returns whether there are any.
    bool mark_undecided(std::size_t count, float error_bound) {
        std::int32_t any = 0;
        for (std::size_t r = 0; r < batch_rows; ++r) {
            const bool sure = top[r] - second[r] > error_bound;
            open[r] = !(sure & !(top[r] > own[r])) & (r < count);
            any |= open[r];
        }
        return any != 0;
    }

    // The component with the highest score, of a row where no other has it too.
    std::int32_t winner(std::size_t r) {
        if (!(top[r] > own[r])) return before[r];
        std::size_t n = 0;
        while (n + 1 < named && *score_of(n, r) != top[r]) ++n;
        return names[n];
    }

    // The lower bound on the margins over one of the components named.
    float& margin_over(std::int32_t name) {
        return margin_bounds[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
    }

private:
    // Scores of a strip of rows with some of the components named, from the nth on.
    void score_named(const float* statistics, std::size_t n, Line (&scores)[group][strip]) {
        next.step();
        const float* natural[group];
        for (std::size_t g = 0; g < group; ++g) {
            const std::size_t j = n + g < named ? static_cast<std::size_t>(names[n + g]) : 0;
            const bool is = n + g < named;
            natural[g] = is ? model_.grouped + j / group * group * model_.n_statistics + j % group : nothing_.get();
            const float bias = is ? model_.grouped_bias[j] : -std::numeric_limits<float>::infinity();
            for (std::size_t v = 0; v < strip; ++v) scores[g][v] = broadcast(bias);
        }
        for (std::size_t f = 0; f < model_.n_statistics; ++f, statistics += batch_rows) {
#pragma GCC unroll 4
            for (std::size_t g = 0; g < group; ++g) {
                const Line coefficient = broadcast(natural[g][f * group]);
#pragma GCC unroll 4
                for (std::size_t v = 0; v < strip; ++v)
                    scores[g][v] += coefficient * load(statistics + v * lanes<float>);
            }
        }
    }

    void score_strip(const float* statistics, std::size_t r, std::size_t count) {
        const Line lowest = broadcast(-std::numeric_limits<float>::infinity());
        Line own_now[strip], best[strip], next[strip], scores[group][strip];
        Names label[strip];
        for (std::size_t v = 0; v < strip; ++v) {
            label[v] = taken<Names>(before + r + v * lanes<float>);
            own_now[v] = next[v] = lowest;
        }
        // First the labels of the rows; with them, where they leave room in a group, some others.
        const std::size_t early = std::min(named, rounded_up(present, group));
        for (std::size_t n = 0; n < early; n += group) {
            score_named(statistics, n, scores);
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) {
                    store(score_of(n + g, r) + v * lanes<float>, scores[g][v]);
                    if (n + g < present) own_now[v] = label[v] == Names{} + names[n + g] ? scores[g][v] : own_now[v];
                }
        }
        for (std::size_t v = 0; v < strip; ++v) best[v] = own_now[v];
        if (r + strip * lanes<float> > count)  // rows past the last have no rivals
            for (std::size_t v = 0; v < strip; ++v)
                for (std::size_t l = 0; l < lanes<float>; ++l)
                    if (r + v * lanes<float> + l >= count) own_now[v][l] = std::numeric_limits<float>::infinity();
        const auto compare = [&](std::size_t v, Line score, Line& margin) {
            const Line gap = own_now[v] - score, loser = score < best[v] ? score : best[v];
            margin = gap < margin ? gap : margin;
            next[v] = loser > next[v] ? loser : next[v];
            best[v] = score > best[v] ? score : best[v];
        };
        for (std::size_t n = 0; n < early; ++n) {
            Line margin = -lowest;
            for (std::size_t v = 0; v < strip; ++v) {
                const Line score = load(score_of(n, r) + v * lanes<float>);
                compare(v, label[v] == Names{} + names[n] ? lowest : score, margin);
            }
            margin_bounds[n] = std::min(margin_bounds[n], smallest(margin));
        }
        for (std::size_t n = early; n < named; n += group) {
            score_named(statistics, n, scores);
            for (std::size_t g = 0; g < group; ++g) {
                Line margin = -lowest;
                // Names past the last have scores of -inf: they never win.
                for (std::size_t v = 0; v < strip; ++v) {
                    store(score_of(n + g, r) + v * lanes<float>, scores[g][v]);
                    compare(v, scores[g][v], margin);
                }
                margin_bounds[n + g] = std::min(margin_bounds[n + g], smallest(margin));
            }
        }
        for (std::size_t v = 0; v < strip; ++v) {
            const std::size_t place = r + v * lanes<float>;
            store(own + place, own_now[v]);
            store(top + place, best[v]);
            store(second + place, next[v]);
        }
    }

    // Scores of rows from r on with the nth of those named.
    float* score_of(std::size_t n, std::size_t r) { return scores_.get() + n * batch_rows + r; }

    const Model<float>& model_;
    Buffer<float> scores_, nothing_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
