// Rows with missing entries by pattern, packed one pattern after the other, and passes of Gaussians over them.
//
// Passes are cut into pieces of a pattern, and pieces are shared out to tasks. Both depend on the sizes alone, and what
// they find is added in order: nothing depends on the threads.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bindings/dense_passes.hpp"
#include "patterns/patterns.hpp"

namespace kmle {

using Cube = Contiguous<const double, 3>;

// Means (k, d) and covariances (k, d, d) with log-weights (k,), laid out for the passes.
class PatternComponents {
public:
    PatternComponents(const Matrix<const double>& mean, const Cube& covariance, const Vector<const double>& log_weights)
        : count(log_weights.shape(0)), columns(mean.shape(1)), log_weights(log_weights.data()),
          padded_(rounded_up(std::max<std::size_t>(count, 1), 8)), mean_(aligned<double>(columns * padded_)),
          covariance_(aligned<double>(columns * columns * padded_)) {
        require(count > 0, "there must be a component at least.");
        require_shape("mean", mean, {count, columns});
        require_shape("covariance", covariance, {count, columns, columns});
        spread(mean.data(), columns, mean_.get());
        spread(covariance.data(), columns * columns, covariance_.get());
    }

    std::size_t padded() const { return padded_; }
    LaneGaussians view() const { return {columns, padded_, mean_.get(), covariance_.get()}; }

    const std::size_t count, columns;
    const double* const log_weights;

private:
    void spread(const double* from, std::size_t entries, double* to) const {
        for (std::size_t e = 0; e < entries; ++e)
            for (std::size_t j = 0; j < padded_; ++j) to[e * padded_ + j] = from[std::min(j, count - 1) * entries + e];
    }

    std::size_t padded_;
    Aligned<double> mean_, covariance_;
};

// Some blocks of the rows of a pattern.
struct Piece {
    std::size_t pattern, first_block, last_block;
};

class PatternRows {
public:
    // Rows of pattern p are those from ends[p - 1] to ends[p]; `holes` says what each pattern lacks.
    PatternRows(std::size_t columns, const Vector<const std::int64_t>& ends, const Matrix<const std::uint8_t>& holes,
                const std::optional<Vector<const double>>& weights, std::size_t threads)
        : columns_(columns), threads_(threads) {
        require_shape("holes", holes, {ends.shape(0), columns});
        std::size_t first = 0;
        for (std::size_t p = 0; p < ends.shape(0); ++p) {
            require(ends.data()[p] > static_cast<std::int64_t>(first), "ends must rise: every pattern has rows.");
            const std::size_t last = static_cast<std::size_t>(ends.data()[p]);
            starts_.push_back(first);
            if (weights) require(last <= weights->shape(0), "weights must be as many as rows.");
            packed_.push_back(std::make_unique<Packing<double>>(
                last - first, columns, static_cast<int>(Features::quadratic), std::nullopt, 1));
            if (weights) packed_.back()->take_weights(weights->data() + first);
            std::vector<std::size_t> there, lost;
            for (std::size_t a = 0; a < columns; ++a) (holes.data()[p * columns + a] ? lost : there).push_back(a);
            require(!there.empty(), "every pattern must have a column.");
            observed_.push_back(std::move(there));
            missing_.push_back(std::move(lost));
            first = last;
        }
        rows_ = first;
        if (weights) require_shape("weights", *weights, {rows_});
        cut();
    }

    // Takes rows (m, d) as those from `first` on, with zeros for missing entries.
    void load(std::size_t first, const Strided<const double, 2>& rows) {
        require_shape("rows", rows, {rows.shape(0), columns_});
        require_room(first, rows.shape(0), rows_);
        const std::size_t last = first + rows.shape(0);
        for (std::size_t p = 0; p < packed_.size(); ++p) {
            const std::size_t from = std::max(first, starts_[p]), to = std::min(last, starts_[p] + packed_[p]->rows());
            if (from >= to) continue;
            packed_[p]->load_rows(from - starts_[p], to - from,
                                  rows.data() + static_cast<std::int64_t>(from - first) * rows.stride(0),
                                  rows.stride(0), rows.stride(1));
        }
    }

    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    std::size_t pieces() const { return pieces_.size(); }
    std::size_t n_statistics() const { return n_statistics_of(Features::quadratic, columns_); }
    std::size_t cells(std::size_t components) const { return components * (n_statistics() + 1); }
    std::pair<std::int64_t, std::int64_t> work() const { return {scored_, rescored_}; }

    // A piece with the components as it sees them.
    class Sight {
    public:
        Sight(const PatternRows& rows, const Piece& piece, const PatternComponents& components)
            : components_(components), first_(rows.starts_[piece.pattern]),
              packed_(rows.packed_[piece.pattern]->view()), observed_(rows.observed_[piece.pattern]),
              pattern_{observed_.data(), rows.missing_[piece.pattern].data(), observed_.size(),
                       rows.missing_[piece.pattern].size()},
              natural_(zeros<double>(packed_.n_statistics * components.padded())),
              constant_(aligned<double>(components.padded())),
              inverse_(aligned<double>(observed_.size() * observed_.size() * components.padded())),
              bias_(components.count) {
            chosen->see_pattern(components.view(), pattern_, marginals());
            for (std::size_t j = 0; j < components.count; ++j) bias_[j] = constant_[j] + components.log_weights[j];
            if (loses_digits()) find_form();
        }

        template <class T>
        GroupedModel<T> grouped() const {
            const Components given(natural_.get(), 1, static_cast<std::int64_t>(components_.padded()), bias_.data(),
                                   components_.count, packed_.n_statistics);
            return GroupedModel<T>(given, 0, components_.count);
        }

        const Packed<double>& packed() const { return packed_; }
        const CenteredForm* form() const { return form_.get(); }
        std::size_t first() const { return first_; }
        double constant(std::size_t j) const { return constant_[j]; }
        double natural(std::size_t j, std::size_t f) const { return natural_[f * components_.padded() + j]; }

        void complete(const double* counts, const double* sums, double* delta, double* scatter) const {
            chosen->complete_pattern(components_.view(), pattern_, marginals(),
                                     {counts, sums, components_.count, packed_.n_statistics, delta, scatter});
        }

    private:
        Marginals marginals() const { return {natural_.get(), constant_.get(), inverse_.get()}; }

        // Whether scores by statistics may be off by more than they are to be.
        bool loses_digits() const {
            std::vector<double> tops(packed_.n_statistics, 0.0);
            for (std::size_t b = 0; b < packed_.blocks(); ++b)
                for (std::size_t a = 0; a < packed_.columns; ++a)
                    tops[a] = std::max(tops[a], packed_.largest[b * packed_.columns + a]);
            for (std::size_t a = 0, f = packed_.columns; a < packed_.columns; ++a)
                for (std::size_t b = a; b < packed_.columns; ++b) tops[f++] = tops[a] * tops[b];
            for (std::size_t j = 0; j < components_.count; ++j) {
                if (std::isinf(bias_[j])) continue;
                double size = std::abs(bias_[j]);
                for (std::size_t f = 0; f < tops.size(); ++f) size += std::abs(natural(j, f)) * tops[f];
                if (!(std::numeric_limits<double>::epsilon() * size <= score_error)) return true;
            }
            return false;
        }

        // The inverse of the factor, transposed, is upper triangular: lower with the columns the other way round.
        void find_form() {
            const std::size_t k = components_.count, o = observed_.size(), padded = components_.padded();
            std::vector<double> mean, factor;
            bool finite = true;
            for (std::size_t j = 0; j < k; ++j) {
                for (std::size_t i = o; i-- > 0;) mean.push_back(components_.view().mean[observed_[i] * padded + j]);
                for (std::size_t i = o; i-- > 0;)
                    for (std::size_t l = i + 1; l-- > 0;) factor.push_back(inverse_[(i * o + l) * padded + j]);
            }
            std::vector<double> constant(k);
            for (std::size_t j = 0; j < k; ++j) {
                double value = -0.5 * static_cast<double>(o) * std::log(2.0 * 3.14159265358979323846);
                for (std::size_t i = 0; i < o; ++i) value += std::log(inverse_[(i * o + i) * padded + j]);
                constant[j] = value + components_.log_weights[j];
                finite &= !std::isnan(constant[j]);
            }
            const std::vector<std::size_t> places(observed_.rbegin(), observed_.rend());
            if (finite)
                form_ = std::make_unique<CenteredForm>(std::move(mean), std::move(factor), std::move(constant), places);
        }

        const PatternComponents& components_;
        std::size_t first_;
        Packed<double> packed_;
        const std::vector<std::size_t>& observed_;
        Pattern pattern_;
        Aligned<double> natural_, constant_, inverse_;
        std::vector<double> bias_;
        std::unique_ptr<CenteredForm> form_;
    };

    // Runs work(piece, sight, task) over all pieces; those of a task come one after the other.
    template <class Work>
    void each(const PatternComponents& components, const Work& work) {
        Pool::run(tasks(), threads_, [&](std::size_t t) {
            for (std::size_t i = edges_[t]; i < edges_[t + 1]; ++i) work(i, Sight(*this, pieces_[i], components), t);
        });
        scored_ += static_cast<std::int64_t>(rows_ * components.count);
    }

    // Makes room for what label_sums keeps, where that is not much. Held while it is asked.
    std::unique_lock<std::mutex> open_label_sums(std::size_t components, bool keeps) {
        constexpr std::size_t most_kept = 1 << 22;
        std::unique_lock<std::mutex> alone(asked_);
        if (!keeps || kept_components_ == components) return alone;
        kept_components_ = pieces() * cells(components) <= most_kept ? components : 0;
        kept_labels_.assign(kept_components_ ? rows_ : 0, -1);
        kept_sums_.assign(kept_components_ ? pieces() * cells(components) : 0, 0.0);
        return alone;
    }

    // Counts and sums of the rows of a piece by their labels, with zeros for missing entries: those kept where the
    // labels are the same.
    std::vector<double> label_sums(std::size_t i, const std::int32_t* labels, std::size_t components, bool keeps) {
        const Piece& own = pieces_[i];
        const Packed<double> packed = packed_[own.pattern]->view();
        const std::size_t start = starts_[own.pattern], size = cells(components);
        const std::size_t first = start + own.first_block * block_rows<double>;
        const std::size_t last = start + std::min(packed.rows, own.last_block * block_rows<double>);
        const bool kept = kept_components_ == components;
        if (kept && std::equal(labels + first, labels + last, kept_labels_.data() + first))
            return {kept_sums_.data() + i * size, kept_sums_.data() + (i + 1) * size};
        std::vector<double> sums(size, 0.0);
        SumsTask task = {own.first_block, own.last_block, components,
                         labels + start,  sums.data(),    sums.data() + components};
        chosen->packed<double>().label_sums(packed, task);
        if (kept && keeps) {
            std::copy(labels + first, labels + last, kept_labels_.data() + first);
            std::copy(sums.begin(), sums.end(), kept_sums_.data() + i * size);
        }
        return sums;
    }

    const Piece& piece(std::size_t i) const { return pieces_[i]; }
    std::size_t tasks() const { return edges_.size() - 1; }
    void count_rescored(std::int64_t rescored) { rescored_ += rescored; }

private:
    // Pieces are large enough to be worth the look at a pattern, and tasks few enough to leave room for what they find.
    void cut() {
        constexpr std::size_t look = 4, fewest = 32;  // a look at a pattern takes as long as some blocks
        std::size_t total = 0, waiting = 0;
        for (const auto& packed : packed_) total += packed->blocks() + look;
        const std::size_t most = std::max(fewest, rounded_up(total, most_tasks) / most_tasks);
        edges_.push_back(0);
        for (std::size_t p = 0; p < packed_.size(); ++p)
            for (std::size_t first = 0; first < packed_[p]->blocks(); first += most) {
                const std::size_t last = std::min(packed_[p]->blocks(), first + most);
                pieces_.push_back({p, first, last});
                waiting += last - first + look;
                if (waiting < most) continue;
                edges_.push_back(pieces_.size());
                waiting = 0;
            }
        if (edges_.back() != pieces_.size()) edges_.push_back(pieces_.size());
    }

    std::size_t columns_, threads_, rows_ = 0;
    std::vector<std::size_t> starts_, edges_;
    std::vector<std::unique_ptr<Packing<double>>> packed_;
    std::vector<std::vector<std::size_t>> observed_, missing_;
    std::vector<Piece> pieces_;
    std::mutex asked_;
    std::size_t kept_components_ = 0;
    std::vector<std::int32_t> kept_labels_;
    std::vector<double> kept_sums_;
    std::atomic<std::int64_t> scored_{0}, rescored_{0};
};

}  // namespace kmle
