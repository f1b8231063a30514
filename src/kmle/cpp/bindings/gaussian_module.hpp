// See gaussian_module.cpp.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

void define_gaussian(nanobind::module_& module);

}  // namespace kmle
