// Packed rows and dense passes over them as part of the Python module.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/dense_passes.hpp"
#include "bindings/modules.hpp"

namespace kmle {
namespace {

template <class T>
nb::class_<PackedRows<T>> define(nb::module_& module, const char* name) {
    using Rows = PackedRows<T>;
    return nb::class_<Rows>(module, name)
        .def(nb::init<std::size_t, std::size_t, int, const std::optional<Vector<const double>>&, std::size_t>(),
             nb::arg("rows"), nb::arg("columns"), nb::arg("features"), nb::arg("weights").noconvert().none(),
             nb::arg("threads"))
        .def("load", &Rows::load, nb::arg("first"), nb::arg("rows").noconvert())
        .def("load_shifted", &Rows::template load_shifted<double>, nb::arg("table").noconvert(),
             nb::arg("shift").noconvert(), nb::arg("places").noconvert().none(), nb::arg("lowest").noconvert().none(),
             nb::arg("highest").noconvert().none())
        .def("load_shifted", &Rows::template load_shifted<float>, nb::arg("table").noconvert(),
             nb::arg("shift").noconvert(), nb::arg("places").noconvert().none(), nb::arg("lowest").noconvert().none(),
             nb::arg("highest").noconvert().none())
        .def("column",
             [](nb::handle self) {
                 Rows& rows = nb::cast<Rows&>(self);
                 return nb::ndarray<nb::numpy, T, nb::ndim<1>>(rows.column(), {rows.rows()}, self);
             })
        .def("measure", &Rows::measure)
        .def("work", &Rows::work)
        .def("largest", &Rows::largest, nb::arg("out").noconvert())
        .def("hard_pass", &hard_pass<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("clusters"), nb::arg("margins").noconvert().none(), nb::arg("centered").none())
        .def("label_rows", &label_rows<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("centered").none())
        .def("label_table", &label_table<T, double>, nb::arg("table").noconvert(), nb::arg("shift").noconvert(),
             nb::arg("natural").noconvert(), nb::arg("bias").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("centered").none(), nb::arg("lowest").noconvert(), nb::arg("highest").noconvert())
        .def("label_table", &label_table<T, float>, nb::arg("table").noconvert(), nb::arg("shift").noconvert(),
             nb::arg("natural").noconvert(), nb::arg("bias").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("centered").none(), nb::arg("lowest").noconvert(), nb::arg("highest").noconvert())
        .def("soft_passes", &soft_passes<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("mixtures"), nb::arg("kept"), nb::arg("totals"), nb::arg("scores").noconvert(),
             nb::arg("centered").none())
        .def("log_likelihood", &log_likelihood<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("centered").none())
        .def("row_scores", &row_scores<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("centered").none(), nb::arg("by_differences"), nb::arg("out"))
        .def("own_scores", &own_scores<T>, nb::arg("labels").noconvert(), nb::arg("centered"),
             nb::arg("totals").noconvert())
        .def("label_sums", &label_sums<T>, nb::arg("labels").noconvert().none(), nb::arg("totals"));
}

}  // namespace

void define_packed(nb::module_& module) {
    nb::class_<given::Totals>(module, "Totals")
        .def(nb::init<const Vector<double>&, const Matrix<double>&>(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert());
    nb::class_<given::Clusters>(module, "Clusters")
        .def(nb::init<const Vector<std::int32_t>&, const Vector<std::int64_t>&, const Vector<double>&,
                      const Matrix<double>&>(),
             nb::arg("labels").noconvert(), nb::arg("sizes").noconvert(), nb::arg("counts").noconvert(),
             nb::arg("sums").noconvert());
    using Numbers = std::optional<Vector<double>>;
    using Tables = std::optional<Matrix<double>>;
    nb::class_<given::RowScores>(module, "RowScores")
        .def(nb::init<const Numbers&, const Numbers&, const Tables&, const Tables&>(),
             nb::arg("log_sums").noconvert().none(), nb::arg("tops").noconvert().none(),
             nb::arg("shares").noconvert().none(), nb::arg("scores").noconvert().none());
    nb::class_<CenteredForm>(module, "CenteredForm")
        .def(nb::init<const Matrix<const double>&, const Matrix<const double>&, const Vector<const double>&,
                      const Matrix<const double>&, const std::vector<std::size_t>&, const std::vector<std::size_t>&,
                      const std::vector<bool>&>(),
             nb::arg("mean").noconvert(), nb::arg("factor").noconvert(), nb::arg("constant").noconvert(),
             nb::arg("linear").noconvert(), nb::arg("places"), nb::arg("linear_places"), nb::arg("carried"));
    auto doubles = define<double>(module, "PackedRows64");
    auto singles = define<float>(module, "PackedRows32");
    define_boxes(module, doubles, singles);
    define_bounds(module, doubles, singles);
    define_gaussian(module, doubles, singles);
    define_climbs(module, doubles, singles);
    define_tails(module, doubles);
}

}  // namespace kmle
