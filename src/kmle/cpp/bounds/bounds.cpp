// Hard passes over spans of rows, with lower bounds on their margins over each component (Elkan 2003, Hamerly 2010):
// only components whose margin may be gone are scored.

#include <memory>
#include <stdexcept>

#include "bounds/margin_bounds.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

template <class T>
class BoundsPass {
public:
    BoundsPass(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise, const Spans& spans,
               const Step& step, HardTask& task)
        : packed_(packed), single_(single), precise_(precise), spans_(spans), step_(step), task_(task),
          in_single_{nullptr,        packed.largest,      packed.weights, packed.rows,
                     packed.columns, packed.n_statistics, packed.features},
          in_double_{nullptr,        packed.largest,      packed.weights, packed.rows,
                     packed.columns, packed.n_statistics, packed.features},
          refiner_(packed, precise, task), booking_(packed.n_statistics, single.components), batch_(single),
          statistics_(packed.n_statistics * batch_rows), bounds_(spans, step), last_span_(spans.width, 0),
          top_(*std::max_element(precise.largest, precise.largest + packed.n_statistics)) {}

    void run() {
        for (std::size_t v = task_.first_block; v < task_.last_block; ++v) {
            const std::size_t s = spans_.visits[v];
            if (v + ahead < task_.last_block) fetch_span(spans_.visits[v + ahead]);
            const bool pure = bounds_.is_pure(s);
            find_present(s, pure);
            const bool uncertain =
                pure ? bounds_.take_pure(s) : bounds_.take_mixed(s, batch_.names.data(), batch_.present);
            bool open = false;
            if (uncertain) {
                find_uncertain();
                open = compare_rows(s);
            }
            if (pure && !uncertain)
                bounds_.write_limit(s);
            else if (!open && all_at_anchor(s))
                bounds_.write_pure(s);
            else
                bounds_.write_mixed(s);
        }
        refiner_.finish();
    }

private:
    static constexpr std::size_t rows = block_rows<T>, ahead = 2;
    static constexpr std::size_t fetching_steps = 8;  // mostly few components are scored
    std::size_t first_row(std::size_t s) const { return s * spans_.rows_each; }
    std::size_t last_row(std::size_t s) const { return std::min(packed_.rows, first_row(s) + spans_.rows_each); }

    bool all_at_anchor(std::size_t s) const {
        const std::int32_t* labels = task_.labels + first_row(s);
        std::int32_t others = 0;
        for (std::size_t r = 0; r < last_row(s) - first_row(s); ++r) others |= labels[r] ^ spans_.anchors[s];
        return others == 0;
    }

    // The labels of the rows of this span come first among the components to be scored. All labels are compared with
    // each one found: quicker than asking of each label whether it is known.
    void find_present(std::size_t s, bool pure) {
        batch_.present = 0;
        if (pure) add_present(s, spans_.anchors[s]);
        for (std::size_t i = first_row(s); !pure && i < last_row(s); i += batch_rows) {
            const std::size_t count = std::min(batch_rows, last_row(s) - i);
            alignas(64) std::int32_t labels[batch_rows];
            std::copy_n(task_.labels + i, count, labels);
            std::fill(labels + count, labels + batch_rows, labels[0]);
            for (std::uint64_t rest = ~std::uint64_t{0}; rest;) {
                const std::int32_t label = labels[__builtin_ctzll(rest)];
                if (static_cast<std::size_t>(label) >= single_.components)
                    throw std::invalid_argument(
                        "every row must have a label, and labels must lie below the components.");
                for (std::size_t r = 0; r < batch_rows; r += lanes<float>)
                    rest &= ~(std::uint64_t{bits_of<float>(taken<Names>(labels + r) == label)} << r);
                if (last_span_[static_cast<std::size_t>(label)] != s + 1) add_present(s, label);
            }
        }
        batch_.named = batch_.present;
    }

    void add_present(std::size_t s, std::int32_t label) {
        batch_.names[batch_.present++] = label;
        last_span_[static_cast<std::size_t>(label)] = s + 1;
    }

    // The components whose margins may be gone are to be scored too. Those present are named already.
    void find_uncertain() {
        for (std::size_t n = 0; n < batch_.present; ++n) bounds_.remaining()[batch_.names[n]] = MarginBounds::longest;
        for (std::size_t j = 0; j < single_.components; j += lanes<float>) {
            unsigned gone = bits_of<float>(~(load(bounds_.remaining() + j) > Line{}));
            if (single_.components - j < lanes<float>) gone &= (1u << (single_.components - j)) - 1;
            batch_.add_names(j, gone);
        }
    }

    // Scores the rows with the components named; returns whether some are left to double precision.
    bool compare_rows(std::size_t s) {
        std::fill_n(batch_.margin_bounds.begin(), rounded_up(batch_.named, group),
                    std::numeric_limits<float>::infinity());
        double span_error_bound = 0.0;
        refined_ = false;
        const std::size_t last = last_row(s);
        for (std::size_t i = first_row(s); i < last; i += batch_rows) {
            const std::size_t count = std::min(batch_rows, last - i);
            task_.scored += static_cast<std::int64_t>(count * batch_.named);
            double error_bound = 0.0;
            for (std::size_t b = i / rows; b * rows < i + count; ++b)
                error_bound = std::max(
                    error_bound, single_error_bound(in_single_, single_, packed_.largest + b * packed_.columns, top_));
            span_error_bound = std::max(span_error_bound, error_bound);
            if (batch_.present > 1) task_.strayed += static_cast<std::int64_t>(count);
            batch_.score(statistics_of(i, count), task_.labels + i, count);
            for (std::size_t r = 0; r < count; ++r) task_.margins[i + r] = batch_.top[r] - batch_.second[r];
            if (batch_.mark_undecided(count, static_cast<float>(error_bound * 1.000001)))
                decide_rows(i, count, error_bound);
        }
        const float error_bound = static_cast<float>(std::min(span_error_bound * 1.000001, largest_float));
        float* found = batch_.margin_bounds.data();
        for (std::size_t n = 0; n < batch_.named; ++n) {
            const float margin = found[n] - error_bound, rounded = margin * (margin > 0 ? 0.999999f : 1.000001f);
            found[n] = rounded > MarginBounds::longest ? MarginBounds::longest : rounded;
        }
        for (std::size_t n = 0; n < batch_.named; ++n) bounds_.remaining()[batch_.names[n]] = found[n];
        return refined_;
    }

    // Fetches memory that is needed soon: a little at once, the rows bit by bit.
    void fetch_span(std::size_t s) {
        const std::size_t block = first_row(s) / rows,
                          blocks = std::min(packed_.blocks() - block, spans_.rows_each / rows);
        batch_.next.finish();
        batch_.next = Fetching(packed_.block(block), blocks * packed_.columns * rows, fetching_steps);
        fetch(spans_.margin_bounds + s * spans_.width, spans_.width);
        fetch(task_.labels + first_row(s), spans_.rows_each);
        fetch(packed_.largest + block * packed_.columns, packed_.columns);
        fetch(task_.margins + first_row(s), spans_.rows_each);
    }

    template <class S>
    static void fetch(const S* values, std::size_t count) {
        for (std::size_t i = 0; i < count; i += 64 / sizeof(S)) __builtin_prefetch(values + i);
    }

    const float* statistics_of(std::size_t i, std::size_t count) {
        if (sizeof(T) == 4 && packed_.features == Features::identity)
            return reinterpret_cast<const float*>(packed_.block(i / rows));
        float* out = statistics_.get();
        for (std::size_t r = 0; r < batch_rows; r += rows)
            for (std::size_t a = 0; a < packed_.columns; ++a) {
                float* column = out + a * batch_rows + r;
                if (r < count)
                    std::copy_n(packed_.block((i + r) / rows) + a * rows, rows, column);
                else
                    std::fill_n(column, rows, 0.0f);
            }
        build_statistics(packed_.features, packed_.columns, batch_rows, out);
        return out;
    }

    void decide_rows(std::size_t i, std::size_t count, double error_bound) {
        for (std::size_t b = i / rows; b * rows < i + count; ++b) {
            for (std::size_t r = b * rows - i; r < std::min(count, (b + 1) * rows - i); ++r)
                if (batch_.open[r]) decide(b, i + r, r, error_bound);
            if (booking_.move_count == 0) continue;
            task_.changed += static_cast<std::int64_t>(booking_.move_count);
            book(packed_, packed_.block(b), booking_, task_);
        }
    }

    // Row i of block b, the rth that is examined.
    void decide(std::size_t b, std::size_t i, std::size_t r, double error_bound) {
        const double margin = static_cast<double>(batch_.top[r]) - static_cast<double>(batch_.second[r]);
        const std::int32_t label = batch_.winner(r), before = batch_.before[r];
        if (!(margin > error_bound)) {  // NaN is uncertain too
            // Double precision may decide against either, and then nothing is known of the margin over it.
            batch_.margin_over(label) = batch_.margin_over(before) = -std::numeric_limits<float>::infinity();
            refined_ = true;
            refiner_.add(i, packed_.block(b) + i % rows, rows, near_tie(in_double_, precise_, b));
            return;
        }
        // The old component of the row is now a rival.
        batch_.margin_over(before) = std::min(batch_.margin_over(before), batch_.top[r] - batch_.own[r]);
        task_.labels[i] = label;
        booking_.moves[booking_.move_count++] = {i % rows, before, label, packed_.weight(i)};
    }

    const Packed<T>& packed_;
    const Model<float>& single_;
    const Model<double>& precise_;
    const Spans& spans_;
    const Step& step_;
    HardTask& task_;
    Packed<float> in_single_;
    Packed<double> in_double_;
    Refiner refiner_;
    Workspace<T> booking_;
    Batch batch_;
    Buffer<float> statistics_;
    MarginBounds bounds_;
    List<std::size_t> last_span_;  // one more than the span in which each component was present
    double top_;
    bool refined_ = false;  // whether rows of the current span are left to double precision
};

}  // namespace

template <class T>
void bounds_pass(const Packed<T>& packed, const Model<float>& single, const Model<double>& precise, const Spans& spans,
                 const Step& step, HardTask& task) {
    std::make_unique<BoundsPass<T>>(packed, single, precise, spans, step, task)->run();
}

template void bounds_pass(const Packed<double>&, const Model<float>&, const Model<double>&, const Spans&, const Step&,
                          HardTask&);
template void bounds_pass(const Packed<float>&, const Model<float>&, const Model<double>&, const Spans&, const Step&,
                          HardTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
