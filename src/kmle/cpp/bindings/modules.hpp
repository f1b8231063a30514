// The parts of the Python module: each defines the classes and functions of one engine.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

template <class T>
class PackedRows;

namespace nb = nanobind;

// Packed rows, what passes add up and report, dense, boxes and bounds passes, and EM of covariance models.
void define_packed(nb::module_& module);
void define_boxes(nb::module_& module, nb::class_<PackedRows<double>>& doubles, nb::class_<PackedRows<float>>& singles);
void define_bounds(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                   nb::class_<PackedRows<float>>& singles);
void define_climbs(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                   nb::class_<PackedRows<float>>& singles);

void define_gaussian(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                     nb::class_<PackedRows<float>>& singles);

void define_tails(nb::module_& module, nb::class_<PackedRows<double>>& doubles);

// After define_packed, whose classes they use.
void define_patterns(nb::module_& module);
void define_sorted(nb::module_& module);
void define_panels(nb::module_& module);
void define_sparse(nb::module_& module);

void define_columns(nb::module_& module);
void define_table(nb::module_& module);

}  // namespace kmle
