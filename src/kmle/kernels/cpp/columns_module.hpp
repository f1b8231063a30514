// Functions on whole columns as part of the Python module.

#pragma once

#include <nanobind/nanobind.h>

#include "passes.hpp"

namespace kmle {

// Defines survey, tabulate, look_up, locate, spatial_order and spread_labels. `passes` is the choice of module.cpp, read
// at every call.
void define_columns(nanobind::module_& module, const Passes* const& passes);

}  // namespace kmle
