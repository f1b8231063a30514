// The wide pass as a class of the Python module.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

// Defines WideRows.
void define_panels(nanobind::module_& module);

}  // namespace kmle
