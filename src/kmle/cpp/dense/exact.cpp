// Compiled without fused multiply-add (see CMakeLists.txt): every product is rounded before it is added.

#include "core/packed.hpp"

namespace kmle {

std::int32_t exact_label(const double* statistics, const double* natural, const double* bias, std::size_t components,
                         std::size_t n_statistics) {
    double best = bias[0];
    std::int32_t label = 0;
    for (std::size_t f = 0; f < n_statistics; ++f) best += natural[f] * statistics[f];
    for (std::size_t j = 1; j < components; ++j) {
        double score = bias[j];
        for (std::size_t f = 0; f < n_statistics; ++f) score += natural[j * n_statistics + f] * statistics[f];
        if (score > best) {
            best = score;
            label = static_cast<std::int32_t>(j);
        }
    }
    return label;
}

}  // namespace kmle
