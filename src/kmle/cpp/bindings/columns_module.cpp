// Functions on the columns of a table, and orders of rows, as part of the Python module.

#include "bindings/modules.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "boxes/ordering.hpp"
#include "core/chosen.hpp"
#include "core/pool.hpp"

namespace kmle {
namespace {

// The owner of the interval each value lies in: `firsts` are the first values of all intervals but the first.
void locate(const Vector<const double>& values, const Vector<const double>& firsts,
            const Vector<const std::int32_t>& owners, const Vector<std::int32_t>& labels, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = values.shape(0), step = 1 << 14;
    require_shape("owners", owners, {firsts.shape(0) + 1});
    require_shape("labels", labels, {n});
    require(std::is_sorted(firsts.data(), firsts.data() + firsts.shape(0)), "firsts must be in increasing order.");
    Pool::run(rounded_up(n, step) / step, threads, [&](std::size_t task) {
        const std::size_t first = task * step, count = std::min(step, n - first);
        std::int32_t* out = labels.data() + first;
        chosen->locate(values.data() + first, count, firsts.data(), firsts.shape(0), out);
        for (std::size_t i = 0; i < count; ++i) out[i] = owners.data()[out[i]];
    });
}

// Orders rows in place so that neighbours are close, and says where each stood.
template <class T>
void spatial_order(const Matrix<T>& rows, std::size_t leaf, const Vector<std::int32_t>& places, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    require(rows.shape(1) > 0, "rows must have at least one column.");
    require(rows.shape(0) < 1u << 31, "rows must be fewer than 2**31.");
    require(leaf > 0 && leaf < 1u << 31, "leaf must be at least one row.");
    require_shape("places", places, {rows.shape(0)});
    order_in_space(rows.data(), places.data(), rows.shape(0), rows.shape(1), leaf, threads);
}

// One label per row, at the places the rows had: the owner of its group, or its own where that is -1.
void spread_labels(const Vector<const std::int32_t>& owners, const Vector<const std::int32_t>& labels, std::size_t each,
                   const Vector<const std::int32_t>& places, const Vector<std::int32_t>& out, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = places.shape(0), groups = owners.shape(0), step = 256;
    require(each > 0, "each must be at least one row.");
    require_shape("owners", owners, {n / each + (n % each > 0)});
    require_shape("labels", labels, {n});
    require_shape("out", out, {n});
    require_below("places", places, n, false);
    Pool::run(rounded_up(groups, step) / step, threads, [&](std::size_t task) {
        for (std::size_t g = task * step; g < std::min(groups, (task + 1) * step); ++g) {
            const std::int32_t owner = owners.data()[g];
            for (std::size_t i = g * each; i < std::min(n, (g + 1) * each); ++i)
                out.data()[places.data()[i]] = owner >= 0 ? owner : labels.data()[i];
        }
    });
}

// Extremes and totals of the columns, and whether all values are finite and whole.
template <class T>
std::pair<bool, bool> summarize(const Matrix<const T>& table, const Vector<double>& lowest,
                                const Vector<double>& highest, const Vector<double>& totals, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t rows = table.shape(0), columns = table.shape(1);
    require(columns > 0, "the table must have at least one column.");
    require_shape("lowest", lowest, {columns});
    require_shape("highest", highest, {columns});
    require_shape("totals", totals, {columns});
    const std::size_t step = std::max<std::size_t>(1, (1 << 17) / columns), count = rounded_up(rows, step) / step;
    std::vector<double> extremes(3 * columns * count);
    std::vector<Summary> parts(count);
    Pool::run(count, threads, [&](std::size_t t) {
        double* own = extremes.data() + 3 * columns * t;
        parts[t] = {own, own + columns, own + 2 * columns, true, true};
        const std::size_t first = t * step, size = std::min(step, rows - first);
        chosen->packed<T>().summarize(table.data() + first * columns, size, columns, parts[t]);
    });
    bool finite = true, whole = true;
    for (const Summary& part : parts) {
        finite &= part.finite;
        whole &= part.whole;
        for (std::size_t a = 0; a < columns; ++a) {
            lowest.data()[a] = std::min(lowest.data()[a], part.lowest[a]);
            highest.data()[a] = std::max(highest.data()[a], part.highest[a]);
            totals.data()[a] += part.totals[a];
        }
    }
    return {finite, whole};
}

// Sums of the squares of the columns, seen from a center, in pieces whose number depends on the sizes alone.
template <class T>
void squares(const Strided<const T, 2>& table, const Vector<const double>& center, const Vector<double>& totals,
             std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t rows = table.shape(0), columns = table.shape(1);
    require(columns > 0, "the table must have at least one column.");
    require_shape("center", center, {columns});
    require_shape("totals", totals, {columns});
    const std::size_t step = std::max<std::size_t>(1, (1 << 15) / columns), count = rounded_up(rows, step) / step;
    std::vector<double> parts(count * columns, 0.0);
    Pool::run(count, threads, [&](std::size_t t) {
        // Neighbours by turns, so that none waits for the one before.
        std::vector<double> sums(2 * columns, 0.0);
        for (std::size_t i = t * step; i < std::min(rows, (t + 1) * step); ++i) {
            const T* row = table.data() + static_cast<std::int64_t>(i) * table.stride(0);
            const std::int64_t stride = table.stride(1);
            double* own = sums.data() + i % 2 * columns;
            const auto add = [&](std::int64_t each) {
                for (std::size_t a = 0; a < columns; ++a) {
                    const double value =
                        static_cast<double>(row[static_cast<std::int64_t>(a) * each]) - center.data()[a];
                    own[a] += value * value;
                }
            };
            if (stride == 1)
                add(1);
            else
                add(stride);
        }
        for (std::size_t a = 0; a < columns; ++a) parts[t * columns + a] = sums[a] + sums[columns + a];
    });
    for (std::size_t c = 0; c < parts.size(); ++c) totals.data()[c % columns] += parts[c];
}

// The place of a whole number in a table of those from `low` on.
inline std::size_t place_in_table(double value, double low, std::size_t size) {
    const double place = value - low;
    if (!(place >= 0.0 && place < static_cast<double>(size)))  // NaN too
        throw std::invalid_argument("values must lie in the range of the table.");
    return static_cast<std::size_t>(place);
}

// How often each whole number from `low` on occurs, by weight where there are weights.
template <class T>
void tabulate(const Vector<const T>& values, double low, const std::optional<Vector<const double>>& weights,
              const Vector<double>& counts, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = values.shape(0), size = counts.shape(0);
    if (weights) require_shape("weights", *weights, {n});
    // Neighbours often are equal: taking turns between a few tables lets their sums proceed side by side. Tables that
    // are large are not worth having twice. How many there are depends on the sizes alone.
    const bool few = size <= 1 << 12;
    const std::size_t turns = few ? 4 : 1, step = few ? 1 << 18 : std::max<std::size_t>(n, 1);
    const std::size_t pieces = rounded_up(n, step) / step;
    std::vector<double> tables(pieces * turns * size, 0.0);
    Pool::run(pieces, threads, [&](std::size_t piece) {
        double* own = tables.data() + piece * turns * size;
        for (std::size_t i = piece * step; i < std::min(n, (piece + 1) * step); ++i) {
            const std::size_t place = place_in_table(static_cast<double>(values.data()[i]), low, size);
            own[i % turns * size + place] += weights ? weights->data()[i] : 1.0;
        }
    });
    for (std::size_t c = 0; c < tables.size(); ++c) counts.data()[c % size] += tables[c];
}

// The entry of a table for each whole number from `low` on.
template <class T>
void look_up(const Vector<const T>& values, double low, const Vector<const std::int32_t>& table,
             const Vector<std::int32_t>& out, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = values.shape(0), step = 1 << 16;
    require_shape("out", out, {n});
    Pool::run(rounded_up(n, step) / step, threads, [&](std::size_t task) {
        for (std::size_t i = task * step; i < std::min(n, (task + 1) * step); ++i)
            out.data()[i] = table.data()[place_in_table(static_cast<double>(values.data()[i]), low, table.shape(0))];
    });
}

template <class T>
void define_for(nb::module_& module, const char* suffix) {
    const auto named = [&](const char* name) { return std::string(name) + suffix; };
    module.def(named("summarize_columns").c_str(), &summarize<T>, nb::arg("table").noconvert(),
               nb::arg("lowest").noconvert(), nb::arg("highest").noconvert(), nb::arg("totals").noconvert(),
               nb::arg("threads"));
    module.def(named("tabulate").c_str(), &tabulate<T>, nb::arg("values").noconvert(), nb::arg("low"),
               nb::arg("weights").noconvert().none(), nb::arg("counts").noconvert(), nb::arg("threads"));
    module.def(named("squares").c_str(), &squares<T>, nb::arg("table").noconvert(), nb::arg("center").noconvert(),
               nb::arg("totals").noconvert(), nb::arg("threads"));
    module.def(named("spatial_order").c_str(), &spatial_order<T>, nb::arg("rows").noconvert(), nb::arg("leaf"),
               nb::arg("places").noconvert(), nb::arg("threads"));
    module.def(named("look_up").c_str(), &look_up<T>, nb::arg("values").noconvert(), nb::arg("low"),
               nb::arg("table").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
}

}  // namespace

void define_columns(nb::module_& module) {
    define_for<double>(module, "64");
    define_for<float>(module, "32");
    module.def("spread_labels", &spread_labels, nb::arg("owners").noconvert(), nb::arg("labels").noconvert(),
               nb::arg("each"), nb::arg("places").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
    module.def("locate", &locate, nb::arg("values").noconvert(), nb::arg("firsts").noconvert(),
               nb::arg("owners").noconvert(), nb::arg("labels").noconvert(), nb::arg("threads"));
}

}  // namespace kmle
