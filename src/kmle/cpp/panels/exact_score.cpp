// Compiled without fused multiply-add (see CMakeLists.txt): every product is rounded before it is added.

#include <algorithm>

#include "panels/panels.hpp"

namespace kmle {

double exact_panels_score(const PanelsModel& model, std::size_t j, const double* row) {
    double sum = 0.0;
    for (std::size_t p = 0; p < model.panels(); ++p) {
        const double *factor = model.factor(j, p), *shift = model.shift(j, p);
        double residuals[panel];
        for (std::size_t r = 0; r < panel; ++r) residuals[r] = -shift[r];
        for (std::size_t c = 0; c < model.panel_columns(p); ++c)
            for (std::size_t r = 0; r < panel; ++r) residuals[r] += factor[c * panel + r] * row[c];
        const std::size_t last = std::min(panel, model.columns - p * panel);
        for (std::size_t r = 0; r < last; ++r) sum += residuals[r] * residuals[r];
    }
    return model.constants[j] - 0.5 * sum;
}

}  // namespace kmle
