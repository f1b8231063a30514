// Hard passes over stretches of rows that belong together. Of every stretch it is known by how much its rows' own
// components lead over each other one, at least; only components that may have caught up since are scored.

#include "labelling.hpp"

#include <cmath>
#include <memory>
#include <vector>

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

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

// Rows that are looked at together: their labels before, and what was found.
struct Look {
    alignas(64) std::int32_t before[look_rows], winner[look_rows], open[look_rows];
    alignas(64) float own[look_rows], top[look_rows], second[look_rows];
};

template <class T>
class Skipping {
public:
    Skipping(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise,
             const Stretches& stretches, const Step& step, HardTask& task)
        : packed_(packed), single_(single), precise_(precise), stretches_(stretches), step_(step), task_(task),
          in_single_{nullptr, packed.largest, packed.weights, packed.rows, packed.columns, packed.order, packed.features},
          in_double_{nullptr, packed.largest, packed.weights, packed.rows, packed.columns, packed.order, packed.features},
          refiner_(packed, precise, task), booking_(packed.order, single.components), statistics_(packed.order * look_rows),
          scores_(rounded_up(single.components, group) * strip * lanes<float>), change_(stretches.width),
          nothing_(packed.order * group), names_(single.components + 1), leads_(single.components + group),
          last_seen_(single.components, 0), top_(*std::max_element(precise.largest, precise.largest + packed.order)) {}

    void run() {
        const std::size_t blocks_each = stretches_.rows_each / rows;
        for (std::size_t b = task_.first_block; b < task_.last_block; b += blocks_each) {
            const std::size_t s = b / blocks_each;
            if (b + ahead * blocks_each < task_.last_block) {
                const std::size_t next = s + ahead;
                fetch(stretches_.leads + next * stretches_.width, stretches_.width);
                fetch(stretches_.centres + next * packed_.order, packed_.order);
                fetch(task_.labels + first_row(next), stretches_.rows_each);
            }
            find_present(s);
            if (!may_change(s)) continue;
            find_doubtful(s);
            look_at(s);
        }
        refiner_.finish();
    }

private:
    static constexpr std::size_t rows = block_rows<T>, ahead = 2;

    std::size_t first_row(std::size_t s) const { return s * stretches_.rows_each; }
    std::size_t last_row(std::size_t s) const { return std::min(packed_.rows, first_row(s) + stretches_.rows_each); }

    // The components that rows of this stretch have for a label come first among those to be scored. From the highest
    // on, one comparison of all labels for each: quicker than to ask of each label whether it is known.
    void find_present(std::size_t s) {
        const std::int32_t* labels = task_.labels + first_row(s);
        const std::size_t count = last_row(s) - first_row(s);
        std::int32_t lowest = labels[0], next = labels[0];
        for (std::size_t r = 0; r < count; ++r) {
            lowest = std::min(lowest, labels[r]);
            next = std::max(next, labels[r]);
        }
        for (present_ = 0;;) {
            names_[present_++] = next;
            last_seen_[static_cast<std::size_t>(next)] = s + 1;
            if (next == lowest) break;
            const std::int32_t previous = next;
            next = lowest;
            for (std::size_t r = 0; r < count; ++r) next = std::max(next, labels[r] < previous ? labels[r] : lowest);
        }
        count_ = present_;
    }

    // How the scores of the centre of a stretch have changed, several registers at a time.
    template <std::size_t registers>
    void follow(const float* centre, std::size_t j) {
        Line sums[registers];
        for (std::size_t v = 0; v < registers; ++v) sums[v] = taken<Line>(step_.bias + j + v * lanes<float>);
        for (std::size_t f = 0; f < packed_.order; ++f)
            for (std::size_t v = 0; v < registers; ++v)
                sums[v] += broadcast(centre[f]) * taken<Line>(step_.natural + f * stretches_.width + j + v * lanes<float>);
        for (std::size_t v = 0; v < registers; ++v) store(change_.get() + j + v * lanes<float>, sums[v]);
    }

    // What is left of the leads; whether some may be gone.
    bool may_change(std::size_t s) {
        constexpr std::size_t several = 4;
        const std::size_t width = stretches_.width;
        const float* centre = stretches_.centres + s * packed_.order;
        std::size_t at = 0;
        for (; at + several * lanes<float> <= width; at += several * lanes<float>) follow<several>(centre, at);
        for (; at < width; at += lanes<float>) follow<1>(centre, at);
        const Line radius = broadcast(stretches_.radii[s]);
        const Line slack = broadcast(step_.rounding + step_.rounding_each * stretches_.norms[s]);
        float *change = change_.get(), *leads = stretches_.leads + s * width;
        Names gone{};
        for (std::size_t j = 0; j < width; j += lanes<float>) {
            Line lost = broadcast(-std::numeric_limits<float>::infinity());
            for (std::size_t p = 0; p < present_; ++p) {
                const std::size_t z = static_cast<std::size_t>(names_[p]);
                const Line drift = load(change + j) - broadcast(change[z]) + radius * taken<Line>(step_.apart + z * width + j);
                lost = drift > lost ? drift : lost;
            }
            const Line left = taken<Line>(leads + j) - lost - slack;
            // Rounded down, so that what is left of a lead is never more than it was.
            const Line rounded_down = left * (left > Line{} ? broadcast(0.999999f) : broadcast(1.000001f));
            std::memcpy(leads + j, &rounded_down, sizeof rounded_down);
            gone |= ~(rounded_down > Line{});  // NaN too
        }
        std::int32_t any = 0;
        for (std::size_t lane = 0; lane < lanes<float>; ++lane) any |= gone[lane];
        return any != 0;
    }

    // The components whose leads may be gone are to be scored too. Without branches: it cannot be foretold which.
    void find_doubtful(std::size_t s) {
        const float* leads = stretches_.leads + s * stretches_.width;
        for (std::size_t j = 0; j < single_.components; ++j) {
            names_[count_] = static_cast<std::int32_t>(j);
            count_ += static_cast<std::size_t>(!(leads[j] > 0.0f) & (last_seen_[j] != s + 1));
        }
    }

    void look_at(std::size_t s) {
        // Where one stretch is looked at the next one often is.
        if (last_row(s) < packed_.rows) {
            const std::size_t next = last_row(s) / rows;
            fetch(packed_.block(next), std::min(packed_.blocks() - next, stretches_.rows_each / rows) * packed_.columns * rows);
            fetch(packed_.largest + next * packed_.columns, packed_.columns);
            fetch(task_.margins + last_row(s), stretches_.rows_each);
        }
        std::fill_n(leads_.begin(), rounded_up(count_, group), std::numeric_limits<float>::infinity());
        double stretch_doubt = 0.0;
        const std::size_t last = last_row(s);
        for (std::size_t i = first_row(s); i < last; i += look_rows) {
            const std::size_t count = std::min(look_rows, last - i);
            task_.scored += static_cast<std::int64_t>(count * count_);
            double doubt = 0.0;
            for (std::size_t b = i / rows; b * rows < i + count; ++b)
                doubt = std::max(doubt, single_doubt(in_single_, single_, packed_.largest + b * packed_.columns, top_));
            stretch_doubt = std::max(stretch_doubt, doubt);
            if (present_ > 1) task_.strayed += static_cast<std::int64_t>(count);
            score_rows(i, count);
            for (std::size_t r = 0; r < count; ++r) task_.margins[i + r] = look_.top[r] - look_.second[r];
            if (settle(count, static_cast<float>(doubt * 1.000001))) decide_rows(i, count, doubt);
        }
        float* leads = stretches_.leads + s * stretches_.width;
        for (std::size_t n = 0; n < count_; ++n) {
            const double lead = static_cast<double>(leads_[n]) - stretch_doubt;
            leads[names_[n]] = static_cast<float>(std::min(lead * (lead > 0 ? 0.999999 : 1.000001), largest_float));
        }
    }

    // What is wanted soon is on its way meanwhile.
    template <class S>
    static void fetch(const S* values, std::size_t count) {
        for (std::size_t i = 0; i < count; i += 64 / sizeof(S)) __builtin_prefetch(values + i);
    }

    const float* statistics_of(std::size_t i, std::size_t count) {
        if (sizeof(T) == 4 && packed_.features == Features::identity)
            return reinterpret_cast<const float*>(packed_.block(i / rows));
        float* out = statistics_.get();
        for (std::size_t r = 0; r < look_rows; r += rows)
            for (std::size_t a = 0; a < packed_.columns; ++a) {
                float* column = out + a * look_rows + r;
                if (r < count)
                    std::copy_n(packed_.block((i + r) / rows) + a * rows, rows, column);
                else
                    std::fill_n(column, rows, 0.0f);
            }
        build_statistics(packed_.features, packed_.columns, look_rows, out);
        return out;
    }

    // Scores of a strip of rows with some of the components named, from the nth on.
    void score_named(const float* statistics, std::size_t n, Line (&scores)[group][strip]) const {
        const float* natural[group];
        for (std::size_t g = 0; g < group; ++g) {
            const std::size_t j = n + g < count_ ? static_cast<std::size_t>(names_[n + g]) : 0;
            const bool is = n + g < count_;
            natural[g] = is ? single_.grouped + j / group * group * packed_.order + j % group : nothing_.get();
            const float bias = is ? single_.grouped_bias[j] : -std::numeric_limits<float>::infinity();
            for (std::size_t v = 0; v < strip; ++v) scores[g][v] = broadcast(bias);
        }
        for (std::size_t f = 0; f < packed_.order; ++f, statistics += look_rows) {
#pragma GCC unroll 4
            for (std::size_t g = 0; g < group; ++g) {
                const Line coefficient = broadcast(natural[g][f * group]);
#pragma GCC unroll 4
                for (std::size_t v = 0; v < strip; ++v) scores[g][v] += coefficient * load(statistics + v * lanes<float>);
            }
        }
    }

    // The best and the second best of the components named, and by how much the rows' own lead over each.
    void score_rows(std::size_t i, std::size_t count) {
        const float* statistics = statistics_of(i, count);
        std::copy_n(task_.labels + i, count, look_.before);
        std::fill(look_.before + count, look_.before + look_rows, names_[0]);
        for (std::size_t r = 0; r < look_rows; r += strip * lanes<float>) score_strip(statistics + r, r, count);
    }

    void score_strip(const float* statistics, std::size_t r, std::size_t count) {
        constexpr std::size_t width = strip * lanes<float>;
        const Line lowest = broadcast(-std::numeric_limits<float>::infinity());
        Line own[strip], top[strip], second[strip], scores[group][strip];
        Names before[strip], winner[strip];
        for (std::size_t v = 0; v < strip; ++v) {
            before[v] = winner[v] = taken<Names>(look_.before + r + v * lanes<float>);
            own[v] = second[v] = lowest;
        }
        // First those that are some row's own; with them, where they leave room, some others.
        const std::size_t early = std::min(count_, rounded_up(present_, group));
        for (std::size_t n = 0; n < early; n += group) {
            score_named(statistics, n, scores);
            for (std::size_t g = 0; g < group; ++g)
                for (std::size_t v = 0; v < strip; ++v) {
                    store(scores_.get() + (n + g) * width + v * lanes<float>, scores[g][v]);
                    if (n + g < present_) own[v] = before[v] == Names{} + names_[n + g] ? scores[g][v] : own[v];
                }
        }
        for (std::size_t v = 0; v < strip; ++v) top[v] = own[v];
        if (r + width > count)  // rows past the last have no rivals
            for (std::size_t v = 0; v < strip; ++v)
                for (std::size_t l = 0; l < lanes<float>; ++l)
                    if (r + v * lanes<float> + l >= count) own[v][l] = std::numeric_limits<float>::infinity();
        const auto compare = [&](std::size_t n, std::size_t v, Line score, Line& lead) {
            const Line gap = own[v] - score;
            lead = gap < lead ? gap : lead;
            const Names better = score > top[v];
            const Line loser = better ? top[v] : score;
            second[v] = loser > second[v] ? loser : second[v];
            top[v] = better ? score : top[v];
            winner[v] = better ? Names{} + names_[n] : winner[v];
        };
        for (std::size_t n = 0; n < early; ++n) {
            Line lead = -lowest;
            for (std::size_t v = 0; v < strip; ++v) {
                const Line score = load(scores_.get() + n * width + v * lanes<float>);
                compare(n, v, before[v] == Names{} + names_[n] ? lowest : score, lead);
            }
            leads_[n] = std::min(leads_[n], smallest(lead));
        }
        for (std::size_t n = early; n < count_; n += group) {
            score_named(statistics, n, scores);
            for (std::size_t g = 0; g < group; ++g) {
                Line lead = -lowest;
                // Names past the last have scores of -inf: they never win, and any name will do.
                for (std::size_t v = 0; v < strip; ++v) compare(std::min(n + g, count_ - 1), v, scores[g][v], lead);
                leads_[n + g] = std::min(leads_[n + g], smallest(lead));
            }
        }
        for (std::size_t v = 0; v < strip; ++v) {
            const std::size_t place = r + v * lanes<float>;
            store(look_.own + place, own[v]);
            store(look_.top + place, top[v]);
            store(look_.second + place, second[v]);
            std::memcpy(look_.winner + place, &winner[v], sizeof winner[v]);
        }
    }

    // Marks the rows whose label is not the one before, or not beyond doubt; returns if there are any.
    bool settle(std::size_t count, float doubt) {
        std::int32_t any = 0;
        for (std::size_t r = 0; r < look_rows; ++r) {
            const bool sure = look_.top[r] - look_.second[r] > doubt;
            look_.open[r] = !(sure & (look_.winner[r] == look_.before[r])) & (r < count);
            any |= look_.open[r];
        }
        return any != 0;
    }

    void decide_rows(std::size_t i, std::size_t count, double doubt) {
        for (std::size_t b = i / rows; b * rows < i + count; ++b) {
            for (std::size_t r = b * rows - i; r < std::min(count, (b + 1) * rows - i); ++r)
                if (look_.open[r]) decide(b, i + r, r, doubt);
            if (booking_.move_count == 0) continue;
            task_.changed += static_cast<std::int64_t>(booking_.move_count);
            book(packed_, packed_.block(b), booking_, task_);
        }
    }

    // Row i of block b, the rth that is looked at.
    void decide(std::size_t b, std::size_t i, std::size_t r, double doubt) {
        const double margin = static_cast<double>(look_.top[r]) - static_cast<double>(look_.second[r]);
        const std::int32_t label = look_.winner[r], before = look_.before[r];
        if (!(margin > doubt)) {  // NaN is in doubt too
            // Double precision may decide against either, and then nothing is known of the lead over it.
            lead_of(label) = lead_of(before) = -std::numeric_limits<float>::infinity();
            refiner_.add(i, packed_.block(b) + i % rows, rows, near_tie(in_double_, precise_, b));
            return;
        }
        // The component that the row leaves has become a rival.
        lead_of(before) = std::min(lead_of(before), look_.top[r] - look_.own[r]);
        task_.labels[i] = label;
        booking_.moves[booking_.move_count++] = {i % rows, before, label, packed_.weight(i)};
    }

    float& lead_of(std::int32_t name) {
        return leads_[static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin())];
    }

    const Packed<T>& packed_;
    const Model<float>& single_;
    const Model<double>& precise_;
    const Stretches& stretches_;
    const Step& step_;
    HardTask& task_;
    Packed<float> in_single_;
    Packed<double> in_double_;
    Refiner refiner_;
    Workspace<T> booking_;
    Buffer<float> statistics_, scores_, change_, nothing_;
    std::vector<std::int32_t> names_;  // of the components to be scored in a stretch, `count_` of them
    std::vector<float> leads_;         // over them
    std::vector<std::size_t> last_seen_;  // one more than the stretch in which each component was present
    std::size_t count_ = 0, present_ = 0;
    double top_;
    Look look_;
};

}  // namespace

template <class T>
void skipping(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise,
              const Stretches& stretches, const Step& step, HardTask& task) {
    std::make_unique<Skipping<T>>(packed, single, precise, stretches, step, task)->run();
}

template void skipping(const Packed<double>&, const Model<float>&, const Model<double>&, const Stretches&, const Step&, HardTask&);
template void skipping(const Packed<float>&, const Model<float>&, const Model<double>&, const Stretches&, const Step&, HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
