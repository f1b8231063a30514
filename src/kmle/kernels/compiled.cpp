// The hot loops of kmle. Same three functions as reference.py, which is the readable statement of what they compute.
//
// Rows are taken in tiles of `tile_rows`, copied to doubles (whatever the type and strides of the input) and turned so
// that one statistic of all rows of the tile lies together: the innermost loops then run over a constant number of
// rows, which the compiler vectorises for any number of statistics and components.
//
// kmle.kernels checks shapes, types and labels before it calls; nothing is checked again here.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace nb = nanobind;

namespace {

constexpr std::size_t tile_rows = 32;

// Long sums are cut in pieces of this many rows, so that the rounding error grows with the piece and not with the data.
constexpr std::size_t rows_per_partial_sum = 4096;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
using Weights = std::optional<Vector<double>>;

// A strided vector; one without data is all ones.
template <class T>
struct VectorView {
    const T* data = nullptr;
    std::int64_t stride = 0;

    VectorView() = default;
    explicit VectorView(const Vector<T>& array) : data(array.data()), stride(array.stride(0)) {}

    T operator[](std::size_t i) const { return data ? data[static_cast<std::int64_t>(i) * stride] : T(1); }
};

VectorView<double> view(const Weights& weights) {
    return weights ? VectorView<double>(*weights) : VectorView<double>();
}

template <class T>
struct MatrixView {
    const T* data;
    std::int64_t row_stride, column_stride;
    std::size_t rows, columns;

    explicit MatrixView(const Matrix<T>& array)
        : data(array.data()),
          row_stride(array.stride(0)),
          column_stride(array.stride(1)),
          rows(array.shape(0)),
          columns(array.shape(1)) {}

    const T* row(std::size_t i) const { return data + static_cast<std::int64_t>(i) * row_stride; }
    double at(const T* row, std::size_t d) const { return row[static_cast<std::int64_t>(d) * column_stride]; }
};

// The parameters of the scores, contiguous. A dead component (bias of -inf) keeps no natural parameter: it may be
// anything, NaN included, and must not reach the scores.
struct Components {
    std::size_t count, order;
    std::vector<double> natural, bias;

    Components(const Matrix<double>& natural_array, const Vector<double>& bias_array)
        : count(natural_array.shape(0)), order(natural_array.shape(1)), natural(count * order, 0.0), bias(count) {
        const MatrixView<double> source(natural_array);
        const VectorView<double> source_bias(bias_array);
        for (std::size_t j = 0; j < count; ++j) {
            bias[j] = source_bias[j];
            if (bias[j] == minus_infinity) continue;
            for (std::size_t d = 0; d < order; ++d) natural[j * order + d] = source.at(source.row(j), d);
        }
    }
};

// A tile of rows, held both ways: row after row, and column after column with zeros past the last row of the data.
class Tile {
public:
    explicit Tile(std::size_t order) : order_(order), by_row_(order * tile_rows), by_column_(order * tile_rows) {}

    template <class T>
    void load(const MatrixView<T>& statistics, std::size_t first) {
        size_ = std::min(tile_rows, statistics.rows - first);
        if (size_ < tile_rows) std::fill(by_column_.begin(), by_column_.end(), 0.0);
        for (std::size_t r = 0; r < size_; ++r) {
            const T* row = statistics.row(first + r);
            for (std::size_t d = 0; d < order_; ++d)
                by_row_[r * order_ + d] = by_column_[d * tile_rows + r] = statistics.at(row, d);
        }
    }

    std::size_t size() const { return size_; }
    const double* row(std::size_t r) const { return by_row_.data() + r * order_; }

    // <t, natural> + bias for every row, summed in the order of the statistics and rounded at every operation.
    // reference.py repeats exactly this sum where scores nearly tie, so both give the same labels.
    void scores(const Components& components, std::size_t j, double* out) const {
        const double* natural = components.natural.data() + j * order_;
        const double* column = by_column_.data();
        std::array<double, tile_rows> sum;
        sum.fill(components.bias[j]);
        for (std::size_t d = 0; d < order_; ++d, column += tile_rows)
            for (std::size_t r = 0; r < tile_rows; ++r) sum[r] += natural[d] * column[r];
        std::copy(sum.begin(), sum.end(), out);
    }

private:
    std::size_t order_, size_ = 0;
    std::vector<double> by_row_, by_column_;
};

// Weighted counts and sums of statistics per component: the result, and the partial sums of the current piece.
class Sums {
public:
    Sums(std::size_t count, std::size_t order, double* counts, double* sums)
        : count_(count), order_(order), counts_(counts), sums_(sums), part_counts_(count), part_sums_(count * order) {}

    double* row(std::size_t j) { return part_sums_.data() + j * order_; }
    void count(std::size_t j, double weight) { part_counts_[j] += weight; }

    void flush() {
        for (std::size_t j = 0; j < count_; ++j) counts_[j] += part_counts_[j];
        for (std::size_t i = 0; i < count_ * order_; ++i) sums_[i] += part_sums_[i];
        std::fill(part_counts_.begin(), part_counts_.end(), 0.0);
        std::fill(part_sums_.begin(), part_sums_.end(), 0.0);
    }

private:
    std::size_t count_, order_;
    double *counts_, *sums_;
    std::vector<double> part_counts_, part_sums_;
};

// A zeroed array that NumPy will own.
template <class T>
struct Output {
    std::unique_ptr<T[]> data;

    explicit Output(std::size_t size) : data(new T[size]()) {}

    template <class... Sizes>
    auto to_numpy(Sizes... sizes) {
        T* raw = data.release();
        nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
        return nb::ndarray<nb::numpy, T, nb::ndim<sizeof...(Sizes)>>(raw, {static_cast<std::size_t>(sizes)...}, owner);
    }
};

template <class T>
nb::tuple assign(const Matrix<T>& statistics_array, const Matrix<double>& natural, const Vector<double>& bias) {
    const MatrixView<T> statistics(statistics_array);
    Output<std::int32_t> labels(statistics.rows);
    Output<double> best(statistics.rows);
    {
        nb::gil_scoped_release unlocked;
        const Components components(natural, bias);
        Tile tile(components.order);
        std::array<double, tile_rows> score, tile_best;
        std::array<std::int64_t, tile_rows> tile_label;
        for (std::size_t first = 0; first < statistics.rows; first += tile_rows) {
            tile.load(statistics, first);
            tile.scores(components, 0, tile_best.data());
            tile_label.fill(0);
            for (std::size_t j = 1; j < components.count; ++j) {
                tile.scores(components, j, score.data());
                for (std::size_t r = 0; r < tile_rows; ++r) {
                    const bool better = score[r] > tile_best[r];  // strictly, so a tie stays with the lowest index
                    tile_best[r] = better ? score[r] : tile_best[r];
                    tile_label[r] = better ? static_cast<std::int64_t>(j) : tile_label[r];
                }
            }
            for (std::size_t r = 0; r < tile.size(); ++r) {
                labels.data[first + r] = static_cast<std::int32_t>(tile_label[r]);
                best.data[first + r] = tile_best[r];
            }
        }
    }
    return nb::make_tuple(labels.to_numpy(statistics.rows), best.to_numpy(statistics.rows));
}

template <class T>
nb::tuple label_sums(const Matrix<T>& statistics_array, const Vector<std::int32_t>& labels_array, std::size_t n_labels,
                     const Weights& weights_array) {
    const MatrixView<T> statistics(statistics_array);
    const VectorView<std::int32_t> labels(labels_array);
    const VectorView<double> weights = view(weights_array);
    const std::size_t order = statistics.columns;
    Output<double> counts(n_labels), sums(n_labels * order);
    {
        nb::gil_scoped_release unlocked;
        Sums total(n_labels, order, counts.data.get(), sums.data.get());
        for (std::size_t i = 0; i < statistics.rows; ++i) {
            const std::size_t j = static_cast<std::size_t>(labels[i]);
            const double weight = weights[i];
            const T* row = statistics.row(i);
            double* sum = total.row(j);
            total.count(j, weight);
            for (std::size_t d = 0; d < order; ++d) sum[d] += weight * statistics.at(row, d);
            if ((i + 1) % rows_per_partial_sum == 0) total.flush();
        }
        total.flush();
    }
    return nb::make_tuple(counts.to_numpy(n_labels), sums.to_numpy(n_labels, order));
}

// Turns the scores of one row (a column of `scores`) into responsibilities times `weight`; returns log sum exp.
double to_responsibilities(double* scores, std::size_t count, double weight) {
    double top = minus_infinity;
    for (std::size_t j = 0; j < count; ++j) top = std::max(top, scores[j * tile_rows]);
    if (top == minus_infinity) {  // every component is dead: the row belongs to none
        for (std::size_t j = 0; j < count; ++j) scores[j * tile_rows] = 0.0;
        return minus_infinity;
    }
    double total = 0.0;
    for (std::size_t j = 0; j < count; ++j) total += scores[j * tile_rows] = std::exp(scores[j * tile_rows] - top);
    for (std::size_t j = 0; j < count; ++j) scores[j * tile_rows] *= weight / total;
    return top + std::log(total);
}

template <class T>
nb::tuple posterior_sums(const Matrix<T>& statistics_array, const Matrix<double>& natural, const Vector<double>& bias,
                         const Weights& weights_array) {
    const MatrixView<T> statistics(statistics_array);
    const VectorView<double> weights = view(weights_array);
    const std::size_t n_components = natural.shape(0), order = statistics.columns;
    Output<double> counts(n_components), sums(n_components * order), log_evidence(statistics.rows);
    {
        nb::gil_scoped_release unlocked;
        const Components components(natural, bias);
        Sums total(n_components, order, counts.data.get(), sums.data.get());
        Tile tile(order);
        std::vector<double> shares(n_components * tile_rows);  // scores, then responsibilities, of one tile
        for (std::size_t first = 0; first < statistics.rows; first += tile_rows) {
            tile.load(statistics, first);
            for (std::size_t j = 0; j < n_components; ++j) tile.scores(components, j, &shares[j * tile_rows]);
            for (std::size_t r = 0; r < tile.size(); ++r)
                log_evidence.data[first + r] = to_responsibilities(&shares[r], n_components, weights[first + r]);
            for (std::size_t j = 0; j < n_components; ++j) {
                double* sum = total.row(j);
                for (std::size_t r = 0; r < tile.size(); ++r) {
                    const double share = shares[j * tile_rows + r];
                    if (share == 0.0) continue;
                    const double* row = tile.row(r);
                    total.count(j, share);
                    for (std::size_t d = 0; d < order; ++d) sum[d] += share * row[d];
                }
            }
            if ((first + tile_rows) % rows_per_partial_sum == 0) total.flush();
        }
        total.flush();
    }
    return nb::make_tuple(counts.to_numpy(n_components), sums.to_numpy(n_components, order),
                          log_evidence.to_numpy(statistics.rows));
}

template <class T>
void define(nb::module_& module) {
    module.def("assign", &assign<T>, nb::arg("statistics").noconvert(), nb::arg("natural").noconvert(),
               nb::arg("bias").noconvert());
    module.def("label_sums", &label_sums<T>, nb::arg("statistics").noconvert(), nb::arg("labels").noconvert(),
               nb::arg("n_labels"), nb::arg("weights").noconvert().none() = nb::none());
    module.def("posterior_sums", &posterior_sums<T>, nb::arg("statistics").noconvert(), nb::arg("natural").noconvert(),
               nb::arg("bias").noconvert(), nb::arg("weights").noconvert().none() = nb::none());
}

}  // namespace

NB_MODULE(_compiled, module) {
    define<double>(module);
    define<float>(module);
}
