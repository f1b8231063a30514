// Functions on whole columns as part of the Python module.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

// Defines survey, tabulate, look_up, locate, spatial_order and spread_labels.
void define_columns(nanobind::module_& module);

}  // namespace kmle
