// Passes over sparse rows as part of the Python module.
//
// Work is cut into pieces that depend on the sizes alone, and their results are added in order: nothing depends on the
// threads.

#include "bindings/modules.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/totals.hpp"
#include "core/chosen.hpp"
#include "core/memory.hpp"
#include "core/pool.hpp"
#include "sparse/sparse.hpp"

namespace kmle {
namespace {

constexpr std::size_t rows_a_piece = 256;
// Waking a thread takes as long as this many products.
constexpr std::size_t fewest_products = 1 << 18;
// Responsibilities of this many bytes are held at a time, and tables of sums of as many beside the first.
constexpr std::size_t held_bytes = 4 << 20;
constexpr std::size_t most_tables = 4, spread_tasks = 16;

// Components side by side.
class LinedModel {
public:
    LinedModel(const Matrix<const double>& natural, const Vector<const double>& bias, std::size_t threads)
        : components_(bias.shape(0)), width_(rounded_up(components_, line_components)), bias_(aligned<double>(width_)),
          table_(aligned<double>(natural.shape(1) * width_)) {
        constexpr double inactive = -std::numeric_limits<double>::infinity();
        std::fill_n(bias_.get(), width_, inactive);
        std::copy_n(bias.data(), components_, bias_.get());
        constexpr std::size_t step = 512;
        const std::size_t columns = natural.shape(1);
        Pool::run(rounded_up(columns, step) / step, columns * width_ < fewest_products ? 1 : threads,
                  [&](std::size_t piece) {
                      const std::size_t first = piece * step, last = std::min(columns, first + step);
                      std::fill(table_.get() + first * width_, table_.get() + last * width_, 0.0);
                      for (std::size_t j = 0; j < components_; ++j)
                          for (std::size_t c = first; bias_[j] > inactive && c < last; ++c)
                              table_[c * width_ + j] = natural.data()[j * columns + c];
                  });
    }

    SparseModel view() const { return {table_.get(), bias_.get(), components_, width_}; }

private:
    std::size_t components_, width_;
    Aligned<double> bias_, table_;
};

// Places of rows by a label each, in order: those of label j stand from starts[j] to starts[j + 1].
class ByLabel {
public:
    template <class Label>
    ByLabel(std::size_t places, std::size_t labels, const Label& label) : starts(labels + 1, 0) {
        for (std::size_t place = 0; place < places; ++place)
            if (label(place) >= 0) ++starts[static_cast<std::size_t>(label(place)) + 1];
        for (std::size_t j = 0; j < labels; ++j) starts[j + 1] += starts[j];
        order.resize(starts[labels]);
        std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
        for (std::size_t place = 0; place < places; ++place)
            if (label(place) >= 0) order[next[static_cast<std::size_t>(label(place))]++] = place;
    }

    std::vector<std::size_t> starts, order;
};

template <class Value, class Index>
class CompressedRows {
public:
    CompressedRows(const Vector<const Value>& values, const Vector<const Index>& columns,
                   const Vector<const Index>& starts, std::size_t n_columns,
                   const std::optional<Vector<const double>>& weights, std::size_t threads)
        : values_(values), columns_(columns), starts_(starts), weights_(weights), n_columns_(n_columns),
          threads_(threads) {
        check_entries();
        if (weights) require_shape("weights", *weights, {rows()});
    }

    std::int64_t hard_pass(const Matrix<const double>& natural, const Vector<const double>& bias,
                           const given::Clusters& clusters) const {
        const nb::gil_scoped_release unlocked;
        const Vector<std::int32_t>& labels = clusters.labels;
        std::int64_t* sizes = clusters.sizes.data();
        require_components(natural, bias, n_columns_);
        clusters.require_fit(rows(), bias.shape(0), n_columns_);
        require_below("labels", labels, bias.shape(0), true);
        std::vector<std::int32_t> found(rows());
        label(natural, bias, found.data(), nullptr);
        std::vector<std::size_t> moved;
        for (std::size_t i = 0; i < rows(); ++i)
            if (found[i] != labels.data()[i]) moved.push_back(i);
        // Where most rows move, adding all up is quicker than taking them off and adding them elsewhere.
        if (2 * moved.size() > rows() || clusters.none_has_rows())
            add_all(found.data(), clusters.totals, sizes);
        else
            add_moved(moved, labels.data(), found.data(), clusters.totals, sizes);
        std::copy(found.begin(), found.end(), labels.data());
        return static_cast<std::int64_t>(moved.size());
    }

    // Labels and the weighted sum of the best scores.
    double best(const Matrix<const double>& natural, const Vector<const double>& bias,
                const Vector<std::int32_t>& labels) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        require_shape("labels", labels, {rows()});
        std::vector<double> scores(rows());
        label(natural, bias, labels.data(), scores.data());
        double total = 0.0;
        for (std::size_t i = 0; i < rows(); ++i) total += view().weight(i) * scores[i];
        return total;
    }

    // What is reported of each row by itself; weights do not count.
    void row_scores(const Matrix<const double>& natural, const Vector<const double>& bias,
                    const given::RowScores& out) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        out.require_fit(rows(), bias.shape(0));
        const LinedModel model(natural, bias, threads_);
        const RowScores wanted = out.view(false);
        softened(model.view(), 0, rows(), model.view().components, nullptr, &wanted);
    }

    std::pair<double, double> log_likelihood(const Matrix<const double>& natural,
                                             const Vector<const double>& bias) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        const LinedModel model(natural, bias, threads_);
        return softened(model.view(), 0, rows(), model.view().components, nullptr);
    }

    double soft_pass(const Matrix<const double>& natural, const Vector<const double>& bias, std::size_t kept,
                     const given::Totals& out) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        out.require_fit(bias.shape(0), n_columns_);
        require_kept(kept, bias.shape(0));
        const LinedModel model(natural, bias, threads_);
        const std::size_t width = model.view().width, size = n_columns_ * width;
        const std::size_t block = std::max(rows_a_piece, held_bytes / (8 * width) / rows_a_piece * rows_a_piece);
        const auto shares = aligned<double>(std::min(block, rows()) * width);
        const std::size_t tables = 1 + std::min(most_tables - 1, held_bytes / (8 * std::max<std::size_t>(size, 1)));
        const auto totals = aligned<double>(tables * size);
        Pool::run(tables, enough(size) ? threads_ : 1,
                  [&](std::size_t table) { std::fill_n(totals.get() + table * size, size, 0.0); });
        double score = 0.0;
        for (std::size_t first = 0; first < rows(); first += block) {
            const std::size_t last = std::min(rows(), first + block);
            score += softened(model.view(), first, last, kept, shares.get()).first;
            for (std::size_t i = 0; i < last - first; ++i)
                for (std::size_t j = 0; j < out.components(); ++j) out.counts.data()[j] += shares[i * width + j];
            spread(first, last, shares.get(), width, tables, totals.get());
        }
        gather(totals.get(), tables, width, out.sums);
        return score;
    }

    void label_sums(const Vector<const std::int32_t>& labels, const given::Totals& totals) const {
        const nb::gil_scoped_release unlocked;
        totals.require_fit(totals.components(), n_columns_);
        require_shape("labels", labels, {rows()});
        require_below("labels", labels, totals.components(), true);
        add_all(labels.data(), totals, nullptr);
    }

private:
    std::size_t rows() const { return starts_.shape(0) - 1; }
    SparseRows<Value, Index> view() const {
        return {values_.data(), columns_.data(), starts_.data(), weights_ ? weights_->data() : nullptr, rows()};
    }
    bool enough(std::size_t products) const { return products >= fewest_products; }

    void check_entries() const {
        const Index* starts = starts_.data();
        if (starts_.shape(0) == 0 || starts[0] != 0 || columns_.shape(0) != values_.shape(0) ||
            static_cast<std::size_t>(starts[rows()]) != values_.shape(0) ||
            !std::is_sorted(starts, starts + rows() + 1))
            throw std::invalid_argument(
                "indptr must begin with 0, never decrease, and end with the number of stored entries.");
        using Place = std::make_unsigned_t<Index>;  // negative places are beyond all others
        const Index* columns = columns_.data();
        Place largest = 0;
        for (std::size_t e = 0; e < columns_.shape(0); ++e) largest = std::max(largest, static_cast<Place>(columns[e]));
        if (columns_.shape(0) && static_cast<std::size_t>(largest) >= n_columns_)
            throw std::invalid_argument("indices must lie below the number of columns, and none may be negative.");
    }

    // Calls work(piece, first, last) for pieces of the rows.
    template <class Work>
    void in_pieces(std::size_t first, std::size_t last, std::size_t width, const Work& work) const {
        const std::size_t entries = view().first(last) - view().first(first) + last - first;
        const std::size_t pieces = rounded_up(last - first, rows_a_piece) / rows_a_piece;
        Pool::run(pieces, enough(entries * width) ? threads_ : 1, [&](std::size_t piece) {
            const std::size_t begin = first + piece * rows_a_piece;
            work(piece, begin, std::min(last, begin + rows_a_piece));
        });
    }

    void label(const Matrix<const double>& natural, const Vector<const double>& bias, std::int32_t* labels,
               double* best) const {
        const LinedModel model(natural, bias, threads_);
        in_pieces(0, rows(), model.view().width, [&](std::size_t, std::size_t first, std::size_t last) {
            chosen->sparse<Value, Index>().label(view(), model.view(), first, last, labels, best);
        });
    }

    std::pair<double, double> softened(const SparseModel& model, std::size_t first, std::size_t last, std::size_t kept,
                                       double* shares, const RowScores* out = nullptr) const {
        std::vector<SoftRows> tasks(rounded_up(last - first, rows_a_piece) / rows_a_piece);
        in_pieces(first, last, model.width, [&](std::size_t piece, std::size_t begin, std::size_t end) {
            tasks[piece] = {begin, end, kept, shares ? shares + (begin - first) * model.width : nullptr, 0.0, 0.0, out};
            chosen->sparse<Value, Index>().soften(view(), model, tasks[piece]);
        });
        std::pair<double, double> total = {0.0, 0.0};
        for (const SoftRows& task : tasks) {
            total.first += task.score;
            total.second += task.entropy;
        }
        return total;
    }

    // Each table of sums has some of the rows, and each task a few lines of components of one table.
    void spread(std::size_t first, std::size_t last, const double* shares, std::size_t width, std::size_t tables,
                double* totals) const {
        const std::size_t lines = width / line_components, ranges = std::min(lines, spread_tasks / tables);
        const std::size_t entries = view().first(last) - view().first(first);
        Pool::run(tables * ranges, enough(entries * width) ? threads_ : 1, [&](std::size_t task) {
            const std::size_t table = task / ranges, range = task % ranges;
            const std::size_t begin = first + (last - first) * table / tables,
                              end = first + (last - first) * (table + 1) / tables;
            const std::size_t low = lines * range / ranges * line_components,
                              high = lines * (range + 1) / ranges * line_components;
            chosen->sparse<Value, Index>().spread(view(), begin, end, shares + (begin - first) * width, width, low,
                                                  high, totals + table * n_columns_ * width);
        });
    }

    // Tables of [column][width] added up in order, as sums of [component][column].
    void gather(const double* totals, std::size_t tables, std::size_t width, const Matrix<double>& sums) const {
        constexpr std::size_t step = 256;
        const std::size_t components = sums.shape(0), size = n_columns_ * width;
        Pool::run(rounded_up(n_columns_, step) / step, enough(size) ? threads_ : 1, [&](std::size_t piece) {
            const std::size_t first = piece * step, last = std::min(n_columns_, first + step);
            for (std::size_t j = 0; j < components; ++j)
                for (std::size_t c = first; c < last; ++c) {
                    double total = 0.0;
                    for (std::size_t table = 0; table < tables; ++table) total += totals[table * size + c * width + j];
                    sums.data()[j * n_columns_ + c] = total;
                }
        });
    }

    void add_row(std::size_t i, double weight, double& count, double* sums) const {
        const SparseRows<Value, Index> rows = view();
        count += weight;
        for (std::size_t e = rows.first(i); e < rows.first(i + 1); ++e)
            sums[rows.columns[e]] += weight * static_cast<double>(rows.values[e]);
    }

    // What all rows add up to by their labels; rows with negative labels are left out. Each component is
    // added up by one thread.
    void add_all(const std::int32_t* labels, const given::Totals& totals, std::int64_t* sizes) const {
        const std::size_t k = totals.components();
        const ByLabel own(rows(), k, [&](std::size_t i) { return labels[i]; });
        Pool::run(k, enough(values_.shape(0)) ? threads_ : 1, [&](std::size_t j) {
            double *line = totals.sums.data() + j * n_columns_, count = 0.0;
            std::fill_n(line, n_columns_, 0.0);
            for (std::size_t place = own.starts[j]; place < own.starts[j + 1]; ++place)
                add_row(own.order[place], view().weight(own.order[place]), count, line);
            totals.counts.data()[j] = count;
            if (sizes) sizes[j] = static_cast<std::int64_t>(own.starts[j + 1] - own.starts[j]);
        });
    }

    // Takes moved rows off their old components and adds them to their new ones.
    void add_moved(const std::vector<std::size_t>& moved, const std::int32_t* before, const std::int32_t* after,
                   const given::Totals& totals, std::int64_t* sizes) const {
        const std::size_t k = totals.components();
        const ByLabel lost(moved.size(), k, [&](std::size_t place) { return before[moved[place]]; });
        const ByLabel gained(moved.size(), k, [&](std::size_t place) { return after[moved[place]]; });
        Pool::run(k, enough(moved.size() * values_.shape(0) / std::max<std::size_t>(rows(), 1)) ? threads_ : 1,
                  [&](std::size_t j) {
                      double *line = totals.sums.data() + j * n_columns_, &count = totals.counts.data()[j];
                      for (const ByLabel* events : {&lost, &gained}) {
                          const double sign = events == &lost ? -1.0 : 1.0;
                          for (std::size_t place = events->starts[j]; place < events->starts[j + 1]; ++place) {
                              const std::size_t i = moved[events->order[place]];
                              add_row(i, sign * view().weight(i), count, line);
                          }
                          sizes[j] += static_cast<std::int64_t>(sign) *
                                      static_cast<std::int64_t>(events->starts[j + 1] - events->starts[j]);
                      }
                  });
    }

    Vector<const Value> values_;
    Vector<const Index> columns_, starts_;
    std::optional<Vector<const double>> weights_;
    std::size_t n_columns_, threads_;
};

template <class Value, class Index>
void define(nb::module_& module, const char* name) {
    using Rows = CompressedRows<Value, Index>;
    nb::class_<Rows>(module, name)
        .def(nb::init<const Vector<const Value>&, const Vector<const Index>&, const Vector<const Index>&, std::size_t,
                      const std::optional<Vector<const double>>&, std::size_t>(),
             nb::arg("values").noconvert(), nb::arg("columns").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("n_columns"), nb::arg("weights").noconvert().none(), nb::arg("threads"))
        .def("hard_pass", &Rows::hard_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("clusters"))
        .def("best", &Rows::best, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert())
        .def("row_scores", &Rows::row_scores, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("out"))
        .def("log_likelihood", &Rows::log_likelihood, nb::arg("natural").noconvert(), nb::arg("bias").noconvert())
        .def("soft_pass", &Rows::soft_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("kept"), nb::arg("totals"))
        .def("label_sums", &Rows::label_sums, nb::arg("labels").noconvert(), nb::arg("totals"));
}

}  // namespace

void define_sparse(nb::module_& module) {
    define<double, std::int32_t>(module, "SparseRows64");
    define<double, std::int64_t>(module, "SparseRows64Long");
    define<float, std::int32_t>(module, "SparseRows32");
    define<float, std::int64_t>(module, "SparseRows32Long");
}

}  // namespace kmle
