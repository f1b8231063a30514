// Boxes passes as part of the Python module.

#include <nanobind/stl/vector.h>

#include "bindings/boxes_passes.hpp"
#include "bindings/modules.hpp"

namespace kmle {
namespace {

template <class T>
void define(nb::class_<PackedRows<T>>& rows) {
    rows.def("groups", &groups<T>, nb::arg("rows_each"), nb::arg("low").noconvert(), nb::arg("high").noconvert(),
             nb::arg("totals").noconvert())
        .def("boxes_pass", &boxes_pass<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("boxes"), nb::arg("candidates").none(), nb::arg("before").none(), nb::arg("after"),
             nb::arg("totals"));
}

}  // namespace

void define_boxes(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                  nb::class_<PackedRows<float>>& singles) {
    nb::class_<given::Level>(module, "Level")
        .def(nb::init<std::size_t, const Matrix<const double>&, const Matrix<const double>&,
                      const Matrix<const double>&>(),
             nb::arg("rows_each"), nb::arg("centers").noconvert(), nb::arg("halves").noconvert(),
             nb::arg("totals").noconvert());
    nb::class_<given::Boxes>(module, "Boxes").def(nb::init<const std::vector<given::Level>&>(), nb::arg("levels"));
    nb::class_<given::Candidates>(module, "Candidates")
        .def(nb::init<const Vector<const std::int64_t>&, const Vector<const std::int32_t>&>(),
             nb::arg("starts").noconvert(), nb::arg("names").noconvert());
    nb::class_<given::GroupLabels>(module, "GroupLabels")
        .def(nb::init<const Vector<std::int32_t>&, const Vector<std::int32_t>&>(), nb::arg("owners").noconvert(),
             nb::arg("rows").noconvert());
    define(doubles);
    define(singles);
}

}  // namespace kmle
