// The Python face of the passes over sparse rows, beside module.cpp and under its rules.
//
// Work is cut into pieces that depend on the sizes alone, and what they say is added in order: nothing depends on the
// threads.

#include "bindings/sparse_module.hpp"

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

#include "bindings/arrays.hpp"
#include "core/chosen.hpp"
#include "core/memory.hpp"
#include "core/pool.hpp"
#include "sparse/sparse.hpp"

namespace kmle {
namespace {

constexpr std::size_t rows_a_piece = 256;
// Waking a thread takes as long as so many products.
constexpr std::size_t fewest_products = 1 << 18;
// Responsibilities of so many bytes are held at a time, and tables of sums of as many beside the first.
constexpr std::size_t held_bytes = 4 << 20;
constexpr std::size_t most_tables = 4, spread_tasks = 16;

template <class Value, class Index>
const SparsePassesOf<Value, Index>& chosen_passes() {
    const SparsePasses& table = *chosen->sparse;
    constexpr bool single = std::is_same_v<Value, float>, is_long = std::is_same_v<Index, std::int64_t>;
    if constexpr (single && is_long)
        return table.single_long;
    else if constexpr (single)
        return table.single_short;
    else if constexpr (is_long)
        return table.double_long;
    else
        return table.double_short;
}

// Components side by side.
class LinedModel {
public:
    LinedModel(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias, std::size_t threads)
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
    using Labels = Contiguous<std::int32_t, 1>;
    using Vector = Contiguous<double, 1>;
    using Matrix = Contiguous<double, 2>;

    CompressedRows(const Contiguous<const Value, 1>& values, const Contiguous<const Index, 1>& columns,
                   const Contiguous<const Index, 1>& starts, std::size_t n_columns,
                   const std::optional<Contiguous<const double, 1>>& weights, std::size_t threads)
        : values_(values), columns_(columns), starts_(starts), weights_(weights), n_columns_(n_columns),
          threads_(threads) {
        check_entries();
        if (weights) require_shape("weights", *weights, {rows()});
    }

    std::int64_t hard_pass(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias,
                           const Labels& labels, const Contiguous<std::int64_t, 1>& sizes, const Vector& counts,
                           const Matrix& sums) const {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, counts, sums);
        require_shape("labels", labels, {rows()});
        require_below("labels", labels, bias.shape(0), true);
        require_shape("sizes", sizes, {bias.shape(0)});
        std::vector<std::int32_t> found(rows());
        label(natural, bias, found.data(), nullptr);
        std::vector<std::size_t> moved;
        for (std::size_t i = 0; i < rows(); ++i)
            if (found[i] != labels.data()[i]) moved.push_back(i);
        const auto none = [](std::int64_t size) { return size == 0; };
        // Most are added up sooner than taken off and added.
        const bool fresh = 2 * moved.size() > rows() || std::all_of(sizes.data(), sizes.data() + sizes.shape(0), none);
        if (fresh)
            add_all(found.data(), counts, sums, sizes.data());
        else
            add_moved(moved, labels.data(), found.data(), counts, sums, sizes.data());
        std::copy(found.begin(), found.end(), labels.data());
        return static_cast<std::int64_t>(moved.size());
    }

    // Labels and the weighted sum of the best scores.
    double best(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias,
                const Labels& labels) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        require_shape("labels", labels, {rows()});
        std::vector<double> scores(rows());
        label(natural, bias, labels.data(), scores.data());
        double total = 0.0;
        for (std::size_t i = 0; i < rows(); ++i) total += view().weight(i) * scores[i];
        return total;
    }

    // What each row's scores are, add up to, and say of the components (see RowScores).
    void row_scores(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias,
                    const std::optional<Vector>& log_sums, const std::optional<Vector>& tops,
                    const std::optional<Matrix>& shares, const std::optional<Matrix>& scores) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        require_outputs(log_sums, tops, shares, scores, rows(), bias.shape(0));
        const LinedModel model(natural, bias, threads_);
        const RowScores out = {log_sums ? log_sums->data() : nullptr, tops ? tops->data() : nullptr,
                               shares ? shares->data() : nullptr, scores ? scores->data() : nullptr, false};
        softened(model.view(), 0, rows(), model.view().components, nullptr, &out);
    }

    std::pair<double, double> log_likelihood(const Contiguous<const double, 2>& natural,
                                       const Contiguous<const double, 1>& bias) const {
        const nb::gil_scoped_release unlocked;
        require_components(natural, bias, n_columns_);
        const LinedModel model(natural, bias, threads_);
        return softened(model.view(), 0, rows(), model.view().components, nullptr);
    }

    double soft_pass(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias,
                     std::size_t kept, const Vector& counts, const Matrix& sums) const {
        const nb::gil_scoped_release unlocked;
        check(natural, bias, counts, sums);
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
                for (std::size_t j = 0; j < counts.shape(0); ++j) counts.data()[j] += shares[i * width + j];
            spread(first, last, shares.get(), width, tables, totals.get());
        }
        gather(totals.get(), tables, width, sums);
        return score;
    }

    void label_sums(const Contiguous<const std::int32_t, 1>& labels, const Vector& counts, const Matrix& sums) const {
        const nb::gil_scoped_release unlocked;
        require_totals(counts, sums, counts.shape(0), n_columns_);
        require_shape("labels", labels, {rows()});
        require_below("labels", labels, counts.shape(0), true);
        add_all(labels.data(), counts, sums, nullptr);
    }

private:
    std::size_t rows() const { return starts_.shape(0) - 1; }
    SparseRows<Value, Index> view() const {
        return {values_.data(), columns_.data(), starts_.data(), weights_ ? weights_->data() : nullptr, rows()};
    }
    bool enough(std::size_t products) const { return products >= fewest_products; }

    void check(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias,
               const Vector& counts, const Matrix& sums) const {
        require_components(natural, bias, n_columns_);
        require_totals(counts, sums, bias.shape(0), n_columns_);
    }

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

    void label(const Contiguous<const double, 2>& natural, const Contiguous<const double, 1>& bias,
               std::int32_t* labels, double* best) const {
        const LinedModel model(natural, bias, threads_);
        in_pieces(0, rows(), model.view().width, [&](std::size_t, std::size_t first, std::size_t last) {
            chosen_passes<Value, Index>().label(view(), model.view(), first, last, labels, best);
        });
    }

    std::pair<double, double> softened(const SparseModel& model, std::size_t first, std::size_t last, std::size_t kept,
                                       double* shares, const RowScores* out = nullptr) const {
        std::vector<SoftRows> tasks(rounded_up(last - first, rows_a_piece) / rows_a_piece);
        in_pieces(first, last, model.width, [&](std::size_t piece, std::size_t begin, std::size_t end) {
            tasks[piece] = {begin, end, kept, shares ? shares + (begin - first) * model.width : nullptr, 0.0, 0.0, out};
            chosen_passes<Value, Index>().soften(view(), model, tasks[piece]);
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
            chosen_passes<Value, Index>().spread(view(), begin, end, shares + (begin - first) * width, width, low, high,
                                                 totals + table * n_columns_ * width);
        });
    }

    // Tables of [column][width] added up in order, as sums of [component][column].
    void gather(const double* totals, std::size_t tables, std::size_t width, const Matrix& sums) const {
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

    // What all rows add up to by their labels; those of negative labels are no one's. Each component is one thread's.
    void add_all(const std::int32_t* labels, const Vector& counts, const Matrix& sums, std::int64_t* sizes) const {
        const std::size_t k = counts.shape(0);
        const ByLabel own(rows(), k, [&](std::size_t i) { return labels[i]; });
        Pool::run(k, enough(values_.shape(0)) ? threads_ : 1, [&](std::size_t j) {
            double *line = sums.data() + j * n_columns_, count = 0.0;
            std::fill_n(line, n_columns_, 0.0);
            for (std::size_t place = own.starts[j]; place < own.starts[j + 1]; ++place)
                add_row(own.order[place], view().weight(own.order[place]), count, line);
            counts.data()[j] = count;
            if (sizes) sizes[j] = static_cast<std::int64_t>(own.starts[j + 1] - own.starts[j]);
        });
    }

    // Takes moved rows off their old components and adds them to their new ones.
    void add_moved(const std::vector<std::size_t>& moved, const std::int32_t* before, const std::int32_t* after,
                   const Vector& counts, const Matrix& sums, std::int64_t* sizes) const {
        const std::size_t k = counts.shape(0);
        const ByLabel lost(moved.size(), k, [&](std::size_t place) { return before[moved[place]]; });
        const ByLabel gained(moved.size(), k, [&](std::size_t place) { return after[moved[place]]; });
        Pool::run(k, enough(moved.size() * values_.shape(0) / std::max<std::size_t>(rows(), 1)) ? threads_ : 1,
                  [&](std::size_t j) {
                      double *line = sums.data() + j * n_columns_, &count = counts.data()[j];
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

    Contiguous<const Value, 1> values_;
    Contiguous<const Index, 1> columns_, starts_;
    std::optional<Contiguous<const double, 1>> weights_;
    std::size_t n_columns_, threads_;
};

template <class Value, class Index>
void define(nb::module_& module, const char* name) {
    using Rows = CompressedRows<Value, Index>;
    nb::class_<Rows>(module, name)
        .def(nb::init<const Contiguous<const Value, 1>&, const Contiguous<const Index, 1>&,
                      const Contiguous<const Index, 1>&, std::size_t, const std::optional<Contiguous<const double, 1>>&,
                      std::size_t>(),
             nb::arg("values").noconvert(), nb::arg("columns").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("n_columns"), nb::arg("weights").noconvert().none(), nb::arg("threads"))
        .def("hard_pass", &Rows::hard_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("sizes").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert())
        .def("best", &Rows::best, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert())
        .def("row_scores", &Rows::row_scores, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("log_sums").noconvert().none(), nb::arg("tops").noconvert().none(),
             nb::arg("shares").noconvert().none(), nb::arg("scores").noconvert().none())
        .def("log_likelihood", &Rows::log_likelihood, nb::arg("natural").noconvert(), nb::arg("bias").noconvert())
        .def("soft_pass", &Rows::soft_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("kept"), nb::arg("counts").noconvert(), nb::arg("sums").noconvert())
        .def("label_sums", &Rows::label_sums, nb::arg("labels").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert());
}

}  // namespace

void define_sparse(nb::module_& module) {
    define<double, std::int32_t>(module, "SparseRows64");
    define<double, std::int64_t>(module, "SparseRows64Long");
    define<float, std::int32_t>(module, "SparseRows32");
    define<float, std::int64_t>(module, "SparseRows32Long");
}

}  // namespace kmle
