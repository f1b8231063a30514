// Hard passes over stretches of rows that belong together. Of every stretch it is known by how much its rows' own
// components lead over each other one, at least; only components that may have caught up since are scored.

#include <memory>
#include <vector>

#include "look.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

template <class T>
class Skipping {
public:
    Skipping(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise,
             const Stretches& stretches, const Step& step, HardTask& task)
        : packed_(packed), single_(single), precise_(precise), stretches_(stretches), step_(step), task_(task),
          in_single_{nullptr, packed.largest, packed.weights, packed.rows, packed.columns, packed.order, packed.features},
          in_double_{nullptr, packed.largest, packed.weights, packed.rows, packed.columns, packed.order, packed.features},
          refiner_(packed, precise, task), booking_(packed.order, single.components), look_(single),
          statistics_(packed.order * look_rows), change_(stretches.width), last_seen_(single.components, 0),
          top_(*std::max_element(precise.largest, precise.largest + packed.order)) {}

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
        for (look_.present = 0;;) {
            look_.names[look_.present++] = next;
            last_seen_[static_cast<std::size_t>(next)] = s + 1;
            if (next == lowest) break;
            const std::int32_t previous = next;
            next = lowest;
            for (std::size_t r = 0; r < count; ++r) next = std::max(next, labels[r] < previous ? labels[r] : lowest);
        }
        look_.named = look_.present;
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
            for (std::size_t p = 0; p < look_.present; ++p) {
                const std::size_t z = static_cast<std::size_t>(look_.names[p]);
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
            look_.names[look_.named] = static_cast<std::int32_t>(j);
            look_.named += static_cast<std::size_t>(!(leads[j] > 0.0f) & (last_seen_[j] != s + 1));
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
        std::fill_n(look_.leads.begin(), rounded_up(look_.named, group), std::numeric_limits<float>::infinity());
        double stretch_doubt = 0.0;
        const std::size_t last = last_row(s);
        for (std::size_t i = first_row(s); i < last; i += look_rows) {
            const std::size_t count = std::min(look_rows, last - i);
            task_.scored += static_cast<std::int64_t>(count * look_.named);
            double doubt = 0.0;
            for (std::size_t b = i / rows; b * rows < i + count; ++b)
                doubt = std::max(doubt, single_doubt(in_single_, single_, packed_.largest + b * packed_.columns, top_));
            stretch_doubt = std::max(stretch_doubt, doubt);
            if (look_.present > 1) task_.strayed += static_cast<std::int64_t>(count);
            look_.score(statistics_of(i, count), task_.labels + i, count);
            for (std::size_t r = 0; r < count; ++r) task_.margins[i + r] = look_.top[r] - look_.second[r];
            if (look_.settle(count, static_cast<float>(doubt * 1.000001))) decide_rows(i, count, doubt);
        }
        float* leads = stretches_.leads + s * stretches_.width;
        for (std::size_t n = 0; n < look_.named; ++n) {
            const double lead = static_cast<double>(look_.leads[n]) - stretch_doubt;
            leads[look_.names[n]] = static_cast<float>(std::min(lead * (lead > 0 ? 0.999999 : 1.000001), largest_float));
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
            look_.lead_of(label) = look_.lead_of(before) = -std::numeric_limits<float>::infinity();
            refiner_.add(i, packed_.block(b) + i % rows, rows, near_tie(in_double_, precise_, b));
            return;
        }
        // The component that the row leaves has become a rival.
        look_.lead_of(before) = std::min(look_.lead_of(before), look_.top[r] - look_.own[r]);
        task_.labels[i] = label;
        booking_.moves[booking_.move_count++] = {i % rows, before, label, packed_.weight(i)};
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
    Look look_;
    Buffer<float> statistics_, change_;
    std::vector<std::size_t> last_seen_;  // one more than the stretch in which each component was present
    double top_;
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
