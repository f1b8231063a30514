// The Python face of what looks at columns as they are given, beside module.cpp and under its rules.

#include "columns_module.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pool.hpp"

namespace nb = nanobind;

namespace kmle {
namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::device::cpu>;
template <int Dimensions>
using Contiguous = nb::ndarray<const double, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

const Passes* const* chosen = nullptr;

// The owner of the interval each value lies in: `firsts` are the first values of all intervals but the first.
void locate(const Contiguous<1>& values, const Contiguous<1>& firsts, const Vector<const std::int32_t>& owners,
            const Vector<std::int32_t>& labels, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = values.shape(0), cuts = firsts.shape(0), step = 1 << 16;
    Pool::run(rounded_up(n, step) / step, threads, [&](std::size_t task) {
        const std::size_t last = std::min(n, (task + 1) * step);
        for (std::size_t i = task * step; i < last; ++i) {
            const double x = values.data()[i];
            std::size_t place = 0;
            if (cuts <= 32)  // counting is faster than searching while there is little to count
                for (std::size_t c = 0; c < cuts; ++c) place += x >= firsts.data()[c];
            else
                place = static_cast<std::size_t>(std::upper_bound(firsts.data(), firsts.data() + cuts, x) - firsts.data());
            labels.data()[i] = owners.data()[static_cast<std::int64_t>(place) * owners.stride(0)];
        }
    });
}

// Cuts places[first, last) in two at the median of the widest column, again and again, down to `leaf` places.
void halve(const double* columns, std::size_t width, std::size_t leaf, std::int64_t* places, std::size_t count) {
    if (count <= leaf) return;
    std::size_t widest = 0;
    double range = -1.0;
    for (std::size_t a = 0; a < width; ++a) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        // A few hundred rows tell the width well enough.
        for (std::size_t i = 0; i < count; i += count / 256 + 1) {
            const double x = columns[static_cast<std::size_t>(places[i]) * width + a];
            low = std::min(low, x);
            high = std::max(high, x);
        }
        if (high - low > range) {
            range = high - low;
            widest = a;
        }
    }
    const std::size_t middle = rounded_up(count, leaf) / leaf / 2 * leaf;  // whole leaves to the left
    std::nth_element(places, places + middle, places + count, [&](std::int64_t i, std::int64_t j) {
        const double x = columns[static_cast<std::size_t>(i) * width + widest];
        const double y = columns[static_cast<std::size_t>(j) * width + widest];
        return x < y || (x == y && i < j);
    });
    halve(columns, width, leaf, places, middle);
    halve(columns, width, leaf, places + middle, count - middle);
}

// An order of the rows in which any `leaf` neighbours, from a multiple of it on, lie in a small box.
void spatial_order(const Contiguous<2>& columns, std::size_t leaf, const Vector<std::int64_t>& places) {
    const nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < columns.shape(0); ++i) places.data()[i] = static_cast<std::int64_t>(i);
    halve(columns.data(), columns.shape(1), leaf, places.data(), columns.shape(0));
}

// Extremes and totals of the columns, and whether all values are finite and whole.
template <class T>
std::pair<bool, bool> survey(const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& table,
                             const Vector<double>& lowest, const Vector<double>& highest, const Vector<double>& totals,
                             std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t rows = table.shape(0), columns = table.shape(1);
    const std::size_t step = std::max<std::size_t>(1, (1 << 17) / columns), count = rounded_up(rows, step) / step;
    std::vector<double> extremes(3 * columns * count);
    std::vector<Survey> parts(count);
    Pool::run(count, threads, [&](std::size_t t) {
        double* own = extremes.data() + 3 * columns * t;
        parts[t] = {own, own + columns, own + 2 * columns, true, true};
        const std::size_t first = t * step, size = std::min(step, rows - first);
        if constexpr (sizeof(T) == 8)
            (*chosen)->survey64(table.data() + first * columns, size, columns, parts[t]);
        else
            (*chosen)->survey32(table.data() + first * columns, size, columns, parts[t]);
    });
    bool finite = true, whole = true;
    for (const Survey& part : parts) {
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

// How often each whole number from `low` on occurs, by weight where there are weights.
template <class T>
void tabulate(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& values, double low,
              const std::optional<Contiguous<1>>& weights, const Vector<double>& counts) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = values.shape(0), size = counts.shape(0);
    // Neighbours often are equal: taking turns between a few tables lets their sums proceed side by side.
    constexpr std::size_t turns = 4;
    std::vector<double> tables(turns * size, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t place = static_cast<std::size_t>(static_cast<double>(values.data()[i]) - low);
        tables[i % turns * size + place] += weights ? weights->data()[i] : 1.0;
    }
    for (std::size_t turn = 0; turn < turns; ++turn)
        for (std::size_t place = 0; place < size; ++place) counts.data()[place] += tables[turn * size + place];
}

// The entry of a table for each whole number from `low` on.
template <class T>
void look_up(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& values, double low,
             const Vector<const std::int32_t>& table, const Vector<std::int32_t>& out, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n = values.shape(0), step = 1 << 16;
    Pool::run(rounded_up(n, step) / step, threads, [&](std::size_t task) {
        for (std::size_t i = task * step; i < std::min(n, (task + 1) * step); ++i)
            out.data()[i] = table.data()[static_cast<std::size_t>(static_cast<double>(values.data()[i]) - low)];
    });
}

template <class T>
void define_for(nb::module_& module, const char* suffix) {
    const auto named = [&](const char* name) { return std::string(name) + suffix; };
    module.def(named("survey").c_str(), &survey<T>, nb::arg("table").noconvert(), nb::arg("lowest").noconvert(),
               nb::arg("highest").noconvert(), nb::arg("totals").noconvert(), nb::arg("threads"));
    module.def(named("tabulate").c_str(), &tabulate<T>, nb::arg("values").noconvert(), nb::arg("low"),
               nb::arg("weights").noconvert().none(), nb::arg("counts").noconvert());
    module.def(named("look_up").c_str(), &look_up<T>, nb::arg("values").noconvert(), nb::arg("low"),
               nb::arg("table").noconvert(), nb::arg("out").noconvert(), nb::arg("threads"));
}

}  // namespace

void define_columns(nb::module_& module, const Passes* const& passes) {
    chosen = &passes;
    define_for<double>(module, "64");
    define_for<float>(module, "32");
    module.def("spatial_order", &spatial_order, nb::arg("columns").noconvert(), nb::arg("leaf"),
               nb::arg("places").noconvert());
    module.def("locate", &locate, nb::arg("values").noconvert(), nb::arg("firsts").noconvert(),
               nb::arg("owners").noconvert(), nb::arg("labels").noconvert(), nb::arg("threads"));
}

}  // namespace kmle
