// The Python face of the compiled kernels. Whatever is given is checked here (see arrays.hpp): no call reads or writes
// memory that is not its own.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/columns_module.hpp"
#include "bindings/gaussian_module.hpp"
#include "bindings/sorted_module.hpp"
#include "bindings/packed_rows.hpp"
#include "bindings/sparse_module.hpp"
#include "bindings/table_module.hpp"
#include "bindings/panels_module.hpp"

namespace kmle {

const Passes* chosen = nullptr;

// Written when the module is built, by tools/leaks.py.
extern const bool leaks_checked;
extern const char* const leaks[];

namespace {

std::vector<const Passes*> usable_passes() {
    std::vector<const Passes*> usable = {&baseline_passes()};
#ifdef KMLE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&avx2_passes());
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        usable.push_back(&avx512_passes());
#endif
    return usable;
}

template <class T>
void define(nb::module_& module, const char* name) {
    using Rows = PackedRows<T>;
    nb::class_<Rows>(module, name)
        .def(nb::init<std::size_t, std::size_t, int, const std::optional<Vector<const double>>&, std::size_t>(),
             nb::arg("rows"), nb::arg("columns"), nb::arg("features"), nb::arg("weights").noconvert().none(),
             nb::arg("threads"))
        .def("load", &Rows::load, nb::arg("first"), nb::arg("rows").noconvert())
        .def("load_shifted", &Rows::template load_shifted<double>, nb::arg("table").noconvert(),
             nb::arg("shift").noconvert(), nb::arg("places").noconvert().none())
        .def("load_shifted", &Rows::template load_shifted<float>, nb::arg("table").noconvert(),
             nb::arg("shift").noconvert(), nb::arg("places").noconvert().none())
        .def("column",
             [](nb::handle self) {
                 Rows& rows = nb::cast<Rows&>(self);
                 return nb::ndarray<nb::numpy, T, nb::ndim<1>>(rows.column(), {rows.rows()}, self);
             })
        .def("measure", &Rows::measure)
        .def("hard_pass", &Rows::hard_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("sizes").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert(), nb::arg("margins").noconvert().none(), nb::arg("centered").none())
        .def("groups", &Rows::groups, nb::arg("rows_each"), nb::arg("low").noconvert(), nb::arg("high").noconvert(),
             nb::arg("totals").noconvert())
        .def("boxes_pass", &Rows::boxes_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("rows_each"), nb::arg("centers"), nb::arg("halves"), nb::arg("totals"),
             nb::arg("starts").noconvert().none(), nb::arg("candidates").noconvert().none(),
             nb::arg("owners_before").noconvert().none(), nb::arg("labels_before").noconvert().none(),
             nb::arg("owners").noconvert(), nb::arg("labels").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert())
        .def("bounds_pass", &Rows::bounds_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("sizes").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert(), nb::arg("margins").noconvert(), nb::arg("rows_each"),
             nb::arg("margin_bounds").noconvert(), nb::arg("limits").noconvert(), nb::arg("anchors").noconvert(),
             nb::arg("radii").noconvert(), nb::arg("change").noconvert(), nb::arg("apart").noconvert(),
             nb::arg("rounding"), nb::arg("gained").noconvert(), nb::arg("reached").noconvert(),
             nb::arg("most_gained").noconvert(), nb::arg("most_apart").noconvert())
        .def("bounds_log_likelihood", &Rows::bounds_log_likelihood, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("rows_each"), nb::arg("margin_bounds").noconvert(),
             nb::arg("limits").noconvert(), nb::arg("anchors").noconvert(), nb::arg("radii").noconvert(),
             nb::arg("change").noconvert(), nb::arg("apart").noconvert(), nb::arg("rounding"),
             nb::arg("gained").noconvert(), nb::arg("reached").noconvert(), nb::arg("most_gained").noconvert(),
             nb::arg("most_apart").noconvert())
        .def("balls", &Rows::balls, nb::arg("rows_each"), nb::arg("every"), nb::arg("scale").noconvert(),
             nb::arg("centers").noconvert(), nb::arg("anchors").noconvert(), nb::arg("radii").noconvert(),
             nb::arg("squares").noconvert().none())
        .def("soft_passes", &Rows::soft_passes, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("mixtures"), nb::arg("kept"), nb::arg("counts").noconvert(), nb::arg("sums").noconvert(),
             nb::arg("scores").noconvert(), nb::arg("centered").none())
        .def("log_likelihood", &Rows::log_likelihood, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("centered").none())
        .def("row_scores", &Rows::row_scores, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("centered").none(), nb::arg("by_differences"), nb::arg("log_sums").noconvert().none(),
             nb::arg("tops").noconvert().none(), nb::arg("shares").noconvert().none(),
             nb::arg("scores").noconvert().none())
        .def("label_rows", &Rows::label_rows, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("centered").none())
        .def("own_scores", &Rows::own_scores, nb::arg("labels").noconvert(), nb::arg("centered"),
             nb::arg("totals").noconvert())
        .def("work", &Rows::work)
        .def("largest", &Rows::largest, nb::arg("out").noconvert())
        .def("label_sums", &Rows::label_sums, nb::arg("labels").noconvert().none(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert());
}

// What a step of the components uses up of margins (see passes.hpp).
void add_drift(const Matrix<const double>& moved, const Vector<const double>& lifted, const Matrix<const double>& centers,
            const Vector<const double>& scale, double rounding, const Matrix<float>& change, const Matrix<float>& apart,
            const Matrix<float>& gained, const Matrix<float>& reached, const Vector<double>& most_gained,
            const Vector<double>& most_apart, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t k = lifted.shape(0), n_statistics = scale.shape(0), width = change.shape(1);
    require(k > 0 && n_statistics > 0 && width >= k, "lines of change must not be shorter than the components.");
    require_shape("moved", moved, {n_statistics, k});
    require_shape("centers", centers, {k, n_statistics});
    require_shape("change", change, {k, width});
    require_shape("apart", apart, {k, width});
    require_shape("gained", gained, {k, width});
    require_shape("reached", reached, {k, width});
    require_shape("most_gained", most_gained, {k});
    require_shape("most_apart", most_apart, {k});
    const std::size_t step = std::max<std::size_t>(1, (1 << 20) / (k * n_statistics));  // few are done before others wake up
    const Moves moves = {
        k,        n_statistics,         change.shape(1), moved.data(),  lifted.data(),  centers.data(),     scale.data(),
        rounding, change.data(), apart.data(),    gained.data(), reached.data(), most_gained.data(), most_apart.data()};
    Pool::run(rounded_up(k, step) / step, threads,
              [&](std::size_t task) { chosen->add_drift(moves, task * step, std::min(k, (task + 1) * step)); });
}

// Which row comes at each place in an order by label and, in so many steps, by margin: those with the least margin first.
// Rows of the same step stay in their order. Numbers of all steps are below 2^16, so none need be compared.
void margin_order(const Vector<const std::int32_t>& labels, const Vector<const float>& margins, std::size_t steps,
                float typical, float most, const Vector<std::int32_t>& places, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    constexpr std::size_t numbers = 1 << 16, pieces = 8;
    const std::size_t n = labels.shape(0);
    require(steps > 0 && steps <= numbers, "steps must lie in 1..65536.");
    require_shape("margins", margins, {n});
    require_shape("places", places, {n});
    std::vector<std::uint16_t> number(n);
    std::vector<std::int32_t> next(pieces * numbers, 0);
    Pool::run(pieces, threads, [&](std::size_t piece) {
        const float top = static_cast<float>(steps) * typical;
        for (std::size_t i = n * piece / pieces; i < n * (piece + 1) / pieces; ++i) {
            // A margin that is no number is beyond them all.
            const float margin = margins.data()[i] < most ? margins.data()[i] : most;
            const float place = top / (margin + typical);
            const std::size_t step =
                place < static_cast<float>(steps) ? static_cast<std::size_t>(std::max(0.0f, place)) : steps - 1;
            number[i] =
                static_cast<std::uint16_t>(static_cast<std::size_t>(labels.data()[i]) * steps + steps - 1 - step);
            ++next[piece * numbers + number[i]];
        }
    });
    std::int32_t before = 0;
    for (std::size_t c = 0; c < numbers; ++c)
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            const std::int32_t count = next[piece * numbers + c];
            next[piece * numbers + c] = before;
            before += count;
        }
    Pool::run(pieces, threads, [&](std::size_t piece) {
        for (std::size_t i = n * piece / pieces; i < n * (piece + 1) / pieces; ++i)
            places.data()[next[piece * numbers + number[i]]++] = static_cast<std::int32_t>(i);
    });
}

}  // namespace
}  // namespace kmle

NB_MODULE(_compiled, module) {
    using namespace kmle;
    chosen = usable_passes().back();
    nb::class_<CenteredForm>(module, "CenteredForm")
        .def(nb::init<const Matrix<const double>&, const Matrix<const double>&, const Vector<const double>&,
                      const Matrix<const double>&, const std::vector<std::size_t>&, const std::vector<std::size_t>&,
                      const std::vector<bool>&>(),
             nb::arg("mean").noconvert(), nb::arg("factor").noconvert(), nb::arg("constant").noconvert(),
             nb::arg("linear").noconvert(), nb::arg("places"), nb::arg("linear_places"), nb::arg("carried"));
    define<double>(module, "PackedRows64");
    define<float>(module, "PackedRows32");
    define_panels(module);
    define_columns(module);
    define_gaussian(module);
    define_sorted(module);
    define_sparse(module);
    define_table(module);
    module.def("add_drift", &add_drift, nb::arg("moved").noconvert(), nb::arg("lifted").noconvert(),
               nb::arg("centers").noconvert(), nb::arg("scale").noconvert(), nb::arg("rounding"),
               nb::arg("change").noconvert(), nb::arg("apart").noconvert(), nb::arg("gained").noconvert(),
               nb::arg("reached").noconvert(), nb::arg("most_gained").noconvert(), nb::arg("most_apart").noconvert(),
               nb::arg("threads"));
    module.def("margin_order", &margin_order, nb::arg("labels").noconvert(), nb::arg("margins").noconvert(),
               nb::arg("steps"), nb::arg("typical"), nb::arg("most"), nb::arg("places").noconvert(),
               nb::arg("threads"));
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const Passes* passes : usable_passes()) names.emplace_back(passes->name);
        return names;
    });
    // What the objects of one instruction set share with others, or None where that was not examined.
    module.def("leaks", []() -> std::optional<std::vector<std::string>> {
        if (!leaks_checked) return std::nullopt;
        std::vector<std::string> names;
        for (const char* const* name = leaks; *name; ++name) names.emplace_back(*name);
        return names;
    });
    module.def("instruction_set", [] { return std::string(chosen->name); });
    const auto use = [](const std::string& name) {
        for (const Passes* passes : usable_passes())
            if (name == passes->name) {
                chosen = passes;
                return;
            }
        throw std::invalid_argument("this machine has no instruction set " + name + ".");
    };
    module.def("use_instruction_set", use, nb::arg("name"));
}
