// The wide pass as a class of the Python module.

#pragma once

#include <nanobind/nanobind.h>

#include "passes.hpp"

namespace kmle {

// Defines WideRows. `passes` is the choice of module.cpp, read at every pass.
void define_wide(nanobind::module_& module, const Passes* const& passes);

}  // namespace kmle
