// Sparse rows as classes of the Python module.

#pragma once

#include <nanobind/nanobind.h>

#include "passes.hpp"

namespace kmle {

// Defines SparseRows64 and SparseRows32. `passes` is the choice of module.cpp, read at every pass.
void define_sparse(nanobind::module_& module, const Passes* const& passes);

}  // namespace kmle
