// See line_module.cpp.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

void define_sorted(nanobind::module_& module);

}  // namespace kmle
