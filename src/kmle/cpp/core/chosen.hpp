// The passes of the instruction set in use.

#pragma once

#include "core/passes.hpp"

namespace kmle {

// Set at import and by `use_instruction_set`, read at every call. In module.cpp.
extern const Passes* chosen;

}  // namespace kmle
