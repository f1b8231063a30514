// Sparse rows as classes of the Python module.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

// Defines SparseRows64 and SparseRows32.
void define_sparse(nanobind::module_& module);

}  // namespace kmle
