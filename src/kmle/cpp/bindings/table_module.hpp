// Passes over rows of a table, where they lie, as part of the Python module.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

// Defines score_table.
void define_table(nanobind::module_& module);

}  // namespace kmle
