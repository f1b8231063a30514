// Passes over rows of a table where they lie, as part of the Python module.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/modules.hpp"
#include "bindings/totals.hpp"
#include "boxes/grouped_model.hpp"
#include "core/chosen.hpp"
#include "core/pool.hpp"

namespace kmle {
namespace {

constexpr std::size_t fewest_rows_a_task = 512, most_tasks = 64;

// The model with columns and components padded.
struct PaddedModel {
    PaddedModel(const GroupedModel<double>& grouped, const Vector<const double>& given_shift)
        : model(grouped.view()), stride(rounded_up(model.n_statistics, table_padding)),
          natural(zeros<double>(rounded_up(model.components, table_padding) * stride)),
          single(zeros<float>(rounded_up(model.components, table_padding) * stride)),
          bias(aligned<float>(rounded_up(model.components, table_padding))), sizes(zeros<double>(stride)),
          shift(zeros<double>(stride)) {
        std::fill_n(bias.get(), rounded_up(model.components, table_padding), -std::numeric_limits<float>::infinity());
        std::copy_n(model.bias, model.components, bias.get());
        for (std::size_t j = 0; j < model.components; ++j)
            for (std::size_t a = 0; a < model.n_statistics; ++a) {
                natural[j * stride + a] = model.natural[j * model.n_statistics + a];
                single[j * stride + a] = static_cast<float>(natural[j * stride + a]);
            }
        std::copy_n(model.largest, model.n_statistics, sizes.get());
        std::copy_n(given_shift.data(), model.n_statistics, shift.get());
    }

    Model<double> model;
    std::size_t stride;
    Aligned<double> natural;
    Aligned<float> single, bias;
    Aligned<double> sizes, shift;
};

// Labels of the rows, or what is wanted of each of them, their statistics being their columns less the shift; extremes
// of the columns; whether all values are finite and whole; and the least and greatest squared length of a row. Where
// scores overflow, finite is false too.
template <class T>
std::tuple<bool, bool, double, double> score_table(const Matrix<const T>& table, const Vector<const double>& shift,
                                                   const Natural& natural, const Bias& bias,
                                                   const std::optional<Vector<std::int32_t>>& labels,
                                                   const given::RowScores* wanted, const Vector<double>& lowest,
                                                   const Vector<double>& highest, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t rows = table.shape(0), columns = table.shape(1);
    require(columns > 0, "the table must have at least one column.");
    require_components(natural, bias, columns);
    require_shape("shift", shift, {columns});
    if (labels) require_shape("labels", *labels, {rows});
    if (wanted) wanted->require_fit(rows, natural.shape(0));
    require_shape("lowest", lowest, {columns});
    require_shape("highest", highest, {columns});
    const GroupedModel<double> grouped(natural, bias);
    const PaddedModel padded(grouped, shift);
    const Table<T> whole_table = {table.data(),        columns,           padded.shift.get(), padded.natural.get(),
                                  padded.single.get(), padded.bias.get(), padded.sizes.get(), padded.model};
    const RowScores out = wanted ? wanted->view(false) : RowScores{};
    const std::size_t count = std::min(most_tasks, rows / fewest_rows_a_task + 1);
    std::vector<double> seen(2 * columns * count);
    std::vector<TableTask> tasks(count);
    Pool::run(count, threads, [&](std::size_t t) {
        double* own = seen.data() + 2 * columns * t;
        tasks[t] = {rows * t / count,
                    rows * (t + 1) / count,
                    labels ? labels->data() : nullptr,
                    wanted && wanted->any() ? &out : nullptr,
                    own,
                    own + columns,
                    0.0,
                    0.0,
                    true,
                    true};
        chosen->packed<T>().score_table(whole_table, tasks[t]);
    });
    bool finite = true, whole = true;
    double shortest = std::numeric_limits<double>::infinity(), longest = -shortest;
    for (const TableTask& task : tasks) {
        shortest = std::min(shortest, task.shortest);
        longest = std::max(longest, task.longest);
        finite &= task.finite;
        whole &= task.whole;
        for (std::size_t a = 0; a < columns; ++a) {
            lowest.data()[a] = std::min(lowest.data()[a], task.lowest[a]);
            highest.data()[a] = std::max(highest.data()[a], task.highest[a]);
        }
    }
    return {finite, whole, shortest, longest};
}

template <class T>
void define_for(nb::module_& module, const char* name) {
    module.def(name, &score_table<T>, nb::arg("table").noconvert(), nb::arg("shift").noconvert(),
               nb::arg("natural").noconvert(), nb::arg("bias").noconvert(), nb::arg("labels").noconvert().none(),
               nb::arg("out").none(), nb::arg("lowest").noconvert(), nb::arg("highest").noconvert(),
               nb::arg("threads"));
}

}  // namespace

void define_table(nb::module_& module) {
    define_for<double>(module, "score_table64");
    define_for<float>(module, "score_table32");
}

}  // namespace kmle
