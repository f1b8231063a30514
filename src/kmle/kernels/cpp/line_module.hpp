// See line_module.cpp.

#pragma once

#include <nanobind/nanobind.h>

namespace kmle {

void define_line(nanobind::module_& module);

}  // namespace kmle
