// The Python module. Bindings check every argument (see arrays.hpp): no call reads or writes outside the arrays given.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/modules.hpp"
#include "core/chosen.hpp"

namespace kmle {

const Passes* chosen = nullptr;

// Written when the module is built, by tools/leaks.py.
extern const bool leaks_checked;
extern const char* const leaks[];

namespace {

std::vector<const Passes*> usable_passes() {
    std::vector<const Passes*> usable = {&baseline_passes()};
#ifdef KMLE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&avx2_passes());
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        usable.push_back(&avx512_passes());
#endif
    return usable;
}

}  // namespace
}  // namespace kmle

NB_MODULE(_compiled, module) {
    using namespace kmle;
    chosen = usable_passes().back();
    define_packed(module);
    define_panels(module);
    define_columns(module);
    define_table(module);
    define_patterns(module);
    define_sorted(module);
    define_sparse(module);
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const Passes* passes : usable_passes()) names.emplace_back(passes->name);
        return names;
    });
    // What the objects of one instruction set share with others, or None where that was not examined.
    module.def("leaks", []() -> std::optional<std::vector<std::string>> {
        if (!leaks_checked) return std::nullopt;
        std::vector<std::string> names;
        for (const char* const* name = leaks; *name; ++name) names.emplace_back(*name);
        return names;
    });
    module.def("instruction_set", [] { return std::string(chosen->name); });
    const auto use = [](const std::string& name) {
        for (const Passes* passes : usable_passes())
            if (name == passes->name) {
                chosen = passes;
                return;
            }
        throw std::invalid_argument("this machine has no instruction set " + name + ".");
    };
    module.def("use_instruction_set", use, nb::arg("name"));
}
