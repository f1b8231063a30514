// Rows in the layout the passes want (see packed.hpp).

#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "boxes/grouped_model.hpp"
#include "core/chosen.hpp"
#include "core/pool.hpp"
#include "sorted/sort_close.hpp"

namespace kmle {

template <class T>
class Packing {
public:
    Packing(std::size_t rows, std::size_t columns, int features, const std::optional<Vector<const double>>& weights,
            std::size_t threads)
        : rows_(checked_rows(rows, columns, features)), columns_(columns), features_(static_cast<Features>(features)),
          threads_(threads), values_(aligned<T>(blocks() * columns_ * block_rows<T>)),
          largest_(blocks() * columns_, 0.0) {
        // Rows past the last are zero; the others are loaded later.
        if (rows_ % block_rows<T>)
            std::fill_n(values_.get() + (blocks() - 1) * columns_ * block_rows<T>, columns_ * block_rows<T>, T(0));
        if (weights) {
            require_shape("weights", *weights, {rows_});
            weights_.assign(weights->data(), weights->data() + rows_);
        }
    }

    // Copies rows into their places, from row `first` on. Different blocks may be loaded by different threads.
    void load(std::size_t first, const Strided<const T, 2>& rows) {
        const nb::gil_scoped_release unlocked;
        require_shape("rows", rows, {rows.shape(0), columns_});
        require_room(first, rows.shape(0), rows_);
        load_rows(first, rows.shape(0), rows.data(), rows.stride(0), rows.stride(1));
    }

    // The same of rows and columns that lie so far apart.
    void load_rows(std::size_t first, std::size_t count, const T* rows, std::int64_t row_stride, std::int64_t stride) {
        for (std::size_t i = first; i < first + count;) {
            const T* row = rows + static_cast<std::int64_t>(i - first) * row_stride;
            if (i % block_rows<T> == 0 && i + block_rows<T> <= first + count) {
                for (std::size_t a = 0; a < columns_; ++a)
                    place_column(i / block_rows<T>, a, row + static_cast<std::int64_t>(a) * stride, row_stride);
                i += block_rows<T>;
            } else {
                place(i++, row, stride);
            }
        }
    }

    // Weights, one for each row.
    void take_weights(const double* weights) { weights_.assign(weights, weights + rows_); }

    // Takes all rows at once from a table, each column less its shift, in the order of the places where they are given.
    // The shift is taken off in double precision and the difference rounded, as NumPy does it. Where extremes of the
    // columns are wanted, returns whether all values are finite and whole.
    template <class From>
    std::pair<bool, bool> load_shifted(const Strided<const From, 2>& table, const Vector<const double>& shift,
                                       const std::optional<Vector<const std::int32_t>>& places,
                                       const std::optional<Vector<double>>& lowest,
                                       const std::optional<Vector<double>>& highest) {
        const nb::gil_scoped_release unlocked;
        require_shape("table", table, {rows_, columns_});
        require_shape("shift", shift, {columns_});
        if (places) {
            require_shape("places", *places, {rows_});
            require_below("places", *places, rows_, false);
        }
        require(lowest.has_value() == highest.has_value(), "lowest and highest must be given together.");
        if (lowest) require_shape("lowest", *lowest, {columns_});
        if (highest) require_shape("highest", *highest, {columns_});
        const PackSource<From> source = {
            table.data(), table.stride(0), table.stride(1), places ? places->data() : nullptr,
            shift.data(), rows_,           columns_};
        constexpr std::size_t step = 16;
        const std::size_t count = rounded_up(blocks(), step) / step;
        std::vector<double> lows(lowest ? count * columns_ : 0, std::numeric_limits<double>::infinity());
        std::vector<double> highs(lows.size(), -std::numeric_limits<double>::infinity());
        std::vector<Summary> summaries(count);
        Pool::run(count, threads_, [&](std::size_t t) {
            summaries[t] = {lows.data() + t * columns_, highs.data() + t * columns_, nullptr, true, true};
            PackTask<T> task = {t * step, std::min(blocks(), (t + 1) * step), values_.get(), largest_.data(),
                                lowest ? &summaries[t] : nullptr};
            chosen->packed<T>().pack(source, task);
        });
        bool finite = true, whole = true;
        for (std::size_t t = 0; lowest && t < count; ++t) {
            finite &= summaries[t].finite;
            whole &= summaries[t].whole;
            for (std::size_t a = 0; a < columns_; ++a) {
                lowest->data()[a] = std::min(lowest->data()[a], summaries[t].lowest[a]);
                highest->data()[a] = std::max(highest->data()[a], summaries[t].highest[a]);
            }
        }
        return {finite, whole};
    }

    // Takes rows of a table, at most as many as there is room for, as the first ones; returns these alone.
    template <class From>
    Packed<T> take(const PackSource<From>& source, Summary& summary) {
        PackTask<T> task = {0, rounded_up(source.rows, block_rows<T>) / block_rows<T>, values_.get(), largest_.data(),
                            &summary};
        chosen->packed<T>().pack(source, task);
        Packed<T> taken = view();
        taken.rows = source.rows;
        return taken;
    }

    // The values of the only column: its blocks lie one after the other, so they are an array in the order of the rows.
    T* column() {
        require(columns_ == 1, "rows of several columns do not lie as one.");
        return values_.get();
    }
    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    std::size_t blocks() const { return rounded_up(rows_, block_rows<T>) / block_rows<T>; }

    // Takes what was written into the only column as loaded.
    void measure() {
        const nb::gil_scoped_release unlocked;
        const std::size_t step = 64 * block_rows<T>;
        Pool::run(rounded_up(rows_, step) / step, threads_,
                  [&](std::size_t task) { measure_rows(task * step, std::min(rows_, (task + 1) * step)); });
    }

    // Takes what was written into the blocks of some rows as loaded.
    void measure_rows(std::size_t first, std::size_t last) {
        constexpr std::size_t rows = block_rows<T>;
        for (std::size_t column = first / rows * columns_; column < rounded_up(last, rows) / rows * columns_; ++column)
            largest_[column] = largest_of(values_.get() + column * rows);
    }

    // Puts some rows into the order of their keys (those of all rows), and these likewise; `measure_rows` is then due.
    // The keys may be the only column itself.
    void sort_rows(std::size_t first, std::size_t last, T* keys) {
        if (keys == values_.get() && weights_.empty()) {
            sort_close(keys + first, last - first, [](T value) { return value; });
            return;
        }
        std::vector<std::pair<T, std::size_t>> order;
        order.reserve(last - first);
        for (std::size_t i = first; i < last; ++i) order.emplace_back(keys[i], i);
        sort_close(order.data(), order.size(), [](const auto& pair) { return pair.first; });
        std::vector<double> moved(last - first);
        const auto reorder = [&](const auto& at) {
            for (std::size_t r = 0; r < moved.size(); ++r) moved[r] = static_cast<double>(at(order[r].second));
            for (std::size_t r = 0; r < moved.size(); ++r)
                at(first + r) = static_cast<std::decay_t<decltype(at(0))>>(moved[r]);
        };
        for (std::size_t a = 0; a < columns_; ++a)
            reorder([&](std::size_t i) -> T& {
                return values_[(i / block_rows<T> * columns_ + a) * block_rows<T> + i % block_rows<T>];
            });
        if (!weights_.empty()) reorder([&](std::size_t i) -> double& { return weights_[i]; });
        if (keys != values_.get()) reorder([&](std::size_t i) -> T& { return keys[i]; });
    }

    std::size_t n_statistics() const { return n_statistics_of(features_, columns_); }

    Packed<T> view() const {
        return {values_.get(),  largest_.data(), weights_.empty() ? nullptr : weights_.data(), rows_, columns_,
                n_statistics(), features_};
    }

    std::size_t threads() const { return threads_; }

    // The largest |value| of each column.
    void largest(const Vector<double>& out) const {
        require_shape("out", out, {columns_});
        for (std::size_t b = 0; b < blocks(); ++b)
            for (std::size_t a = 0; a < columns_; ++a)
                out.data()[a] = std::max(out.data()[a], largest_[b * columns_ + a]);
    }

private:
    std::size_t rows_, columns_;
    Features features_;
    std::size_t threads_;
    Aligned<T> values_;
    std::vector<double> largest_, weights_;

    static std::size_t checked_rows(std::size_t rows, std::size_t columns, int features) {
        require(columns > 0 && columns < 1u << 31, "columns must be at least one, and below 2**31.");
        require(features >= 0 && features <= 2, "features must be 0, 1 or 2.");
        table_size(rows, columns);
        return rows;
    }

    void place(std::size_t i, const T* row, std::int64_t stride) {
        const std::size_t b = i / block_rows<T>;
        T* out = values_.get() + b * columns_ * block_rows<T> + i % block_rows<T>;
        for (std::size_t a = 0; a < columns_; ++a) {
            const T value = row[static_cast<std::int64_t>(a) * stride];
            out[a * block_rows<T>] = value;
            double& largest = largest_[b * columns_ + a];
            largest = std::max(largest, static_cast<double>(std::abs(value)));
        }
    }

    // A column of a whole block, whose values lie so far apart.
    void place_column(std::size_t b, std::size_t a, const T* column, std::int64_t stride) {
        T* out = values_.get() + (b * columns_ + a) * block_rows<T>;
        if (stride == 1)  // as one copy
            std::copy_n(column, block_rows<T>, out);
        else
            for (std::size_t r = 0; r < block_rows<T>; ++r) out[r] = column[static_cast<std::int64_t>(r) * stride];
        largest_[b * columns_ + a] = largest_of(out);
    }

    // The largest |value| of a column of a block.
    static double largest_of(const T* column) {
        constexpr std::size_t apart = 8;  // several at a time, so that none waits for the one before
        T tops[apart] = {};
        for (std::size_t r = 0; r < block_rows<T>; r += apart)
            for (std::size_t l = 0; l < apart; ++l) {
                const T size = std::abs(column[r + l]);
                tops[l] = tops[l] < size ? size : tops[l];
            }
        return static_cast<double>(*std::max_element(tops, tops + apart));
    }
};

}  // namespace kmle
