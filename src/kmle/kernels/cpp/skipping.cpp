// Hard passes over stretches of rows that belong together. Of every stretch it is known by how much its rows' own
// components lead over each other one, at least; only components that may have caught up since are scored.

#include <memory>
#include <stdexcept>

#include "leads.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

template <class T>
class Skipping {
public:
    Skipping(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise,
             const Stretches& stretches, const Step& step, HardTask& task)
        : packed_(packed), single_(single), precise_(precise), stretches_(stretches), step_(step), task_(task),
          in_single_{nullptr,        packed.largest, packed.weights, packed.rows,
                     packed.columns, packed.order,   packed.features},
          in_double_{nullptr,        packed.largest, packed.weights, packed.rows,
                     packed.columns, packed.order,   packed.features},
          refiner_(packed, precise, task), booking_(packed.order, single.components), look_(single),
          statistics_(packed.order * look_rows), leads_(stretches, step), last_seen_(stretches.width, 0),
          top_(*std::max_element(precise.largest, precise.largest + packed.order)) {}

    void run() {
        for (std::size_t v = task_.first_block; v < task_.last_block; ++v) {
            const std::size_t s = stretches_.visits[v];
            if (v + ahead < task_.last_block) fetch_stretch(stretches_.visits[v + ahead]);
            const bool settled = leads_.is_settled(s);
            find_present(s, settled);
            const bool doubtful =
                settled ? leads_.take_settled(s) : leads_.take_mixed(s, look_.names.data(), look_.present);
            bool open = false;
            if (doubtful) {
                find_doubtful();
                open = look_at(s);
            }
            if (settled && !doubtful)
                leads_.write_limit(s);
            else if (!open && all_at_home(s))
                leads_.write_settled(s);
            else
                leads_.write_mixed(s);
        }
        refiner_.finish();
    }

private:
    static constexpr std::size_t rows = block_rows<T>, ahead = 2;
    static constexpr std::size_t fetching_steps = 8;  // few components are scored, mostly
    std::size_t first_row(std::size_t s) const { return s * stretches_.rows_each; }
    std::size_t last_row(std::size_t s) const { return std::min(packed_.rows, first_row(s) + stretches_.rows_each); }

    bool all_at_home(std::size_t s) const {
        const std::int32_t* labels = task_.labels + first_row(s);
        std::int32_t others = 0;
        for (std::size_t r = 0; r < last_row(s) - first_row(s); ++r) others |= labels[r] ^ stretches_.homes[s];
        return others == 0;
    }

    // The components that rows of this stretch have for a label come first among those to be scored. From the first row
    // on, one comparison of all labels for each: quicker than to ask of each label whether it is known.
    void find_present(std::size_t s, bool settled) {
        look_.present = 0;
        if (settled) add_present(s, stretches_.homes[s]);
        for (std::size_t i = first_row(s); !settled && i < last_row(s); i += look_rows) {
            const std::size_t count = std::min(look_rows, last_row(s) - i);
            alignas(64) std::int32_t labels[look_rows];
            std::copy_n(task_.labels + i, count, labels);
            std::fill(labels + count, labels + look_rows, labels[0]);
            for (std::uint64_t rest = ~std::uint64_t{0}; rest;) {
                const std::int32_t label = labels[__builtin_ctzll(rest)];
                if (static_cast<std::size_t>(label) >= single_.components)
                    throw std::invalid_argument(
                        "every row must have a label, and labels must lie below the components.");
                for (std::size_t r = 0; r < look_rows; r += lanes<float>)
                    rest &= ~(std::uint64_t{bits_of<float>(taken<Names>(labels + r) == label)} << r);
                if (last_seen_[static_cast<std::size_t>(label)] != s + 1) add_present(s, label);
            }
        }
        look_.named = look_.present;
    }

    void add_present(std::size_t s, std::int32_t label) {
        look_.names[look_.present++] = label;
        last_seen_[static_cast<std::size_t>(label)] = s + 1;
    }

    // The components whose leads may be gone are to be scored too. Those present are named already.
    void find_doubtful() {
        for (std::size_t n = 0; n < look_.present; ++n) leads_.left()[look_.names[n]] = Leads::longest;
        for (std::size_t j = 0; j < single_.components; j += lanes<float>) {
            unsigned gone = bits_of<float>(~(load(leads_.left() + j) > Line{}));
            if (single_.components - j < lanes<float>) gone &= (1u << (single_.components - j)) - 1;
            look_.add_names(j, gone);
        }
    }

    // Scores the rows with the components named; whether some are left to be decided later.
    bool look_at(std::size_t s) {
        std::fill_n(look_.leads.begin(), rounded_up(look_.named, group), std::numeric_limits<float>::infinity());
        double stretch_doubt = 0.0;
        refined_ = false;
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
        const float doubt = static_cast<float>(std::min(stretch_doubt * 1.000001, largest_float));
        float* found = look_.leads.data();
        for (std::size_t n = 0; n < look_.named; ++n) {
            const float lead = found[n] - doubt, rounded = lead * (lead > 0 ? 0.999999f : 1.000001f);
            found[n] = rounded > Leads::longest ? Leads::longest : rounded;
        }
        for (std::size_t n = 0; n < look_.named; ++n) leads_.left()[look_.names[n]] = found[n];
        return refined_;
    }

    // What is wanted soon is on its way meanwhile: little of it at once, the rows bit by bit.
    void fetch_stretch(std::size_t s) {
        const std::size_t block = first_row(s) / rows,
                          blocks = std::min(packed_.blocks() - block, stretches_.rows_each / rows);
        look_.next.finish();
        look_.next = Fetching(packed_.block(block), blocks * packed_.columns * rows, fetching_steps);
        fetch(stretches_.leads + s * stretches_.width, stretches_.width);
        fetch(task_.labels + first_row(s), stretches_.rows_each);
        fetch(packed_.largest + block * packed_.columns, packed_.columns);
        fetch(task_.margins + first_row(s), stretches_.rows_each);
    }

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
        const std::int32_t label = look_.winner(r), before = look_.before[r];
        if (!(margin > doubt)) {  // NaN is in doubt too
            // Double precision may decide against either, and then nothing is known of the lead over it.
            look_.lead_of(label) = look_.lead_of(before) = -std::numeric_limits<float>::infinity();
            refined_ = true;
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
    Buffer<float> statistics_;
    Leads leads_;
    List<std::size_t> last_seen_;  // one more than the stretch in which each component was present
    double top_;
    bool refined_ = false;  // whether rows of the stretch at hand are left to double precision
};

}  // namespace

template <class T>
void skipping(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise,
              const Stretches& stretches, const Step& step, HardTask& task) {
    std::make_unique<Skipping<T>>(packed, single, precise, stretches, step, task)->run();
}

template void skipping(const Packed<double>&, const Model<float>&, const Model<double>&, const Stretches&, const Step&,
                       HardTask&);
template void skipping(const Packed<float>&, const Model<float>&, const Model<double>&, const Stretches&, const Step&,
                       HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
