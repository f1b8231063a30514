// Compiled without fused multiply-add (see CMakeLists.txt): every product is rounded before it is added.

#include "centred.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Registers of rows that share a coefficient.
constexpr std::size_t together = 4, width = lanes<double>;
static_assert(centred_rows % (together * width) == 0);

// The sums of squares of L^T (x - mean) for a few registers of rows; without a mean, of the carried entries of L^T x.
inline void add_squares(const Centred& centred, const double* mean, const double* factor, const double* columns,
                        double* space, Vec<double> (&sum)[together]) {
    const std::size_t c = centred.columns;
    for (std::size_t a = 0; a < c; ++a)
        for (std::size_t v = 0; v < together; ++v)
            store(space + (a * together + v) * width,
                  load(columns + centred.places[a] * centred_rows + v * width) - broadcast(mean ? mean[a] : 0.0));
    for (std::size_t b = 0; b < c; ++b) {
        const double* difference = space + b * together * width;
        Vec<double> u[together];
        for (std::size_t v = 0; v < together; ++v) u[v] = broadcast(*factor) * load(difference + v * width);
        ++factor;
        for (std::size_t a = b + 1; centred.triangular && a < c; ++a, ++factor) {
            const Vec<double> coefficient = broadcast(*factor);
            difference += together * width;
            for (std::size_t v = 0; v < together; ++v) u[v] += coefficient * load(difference + v * width);
        }
        if (!mean && !centred.carried_columns[b]) continue;
        for (std::size_t v = 0; v < together; ++v) sum[v] += u[v] * u[v];
    }
}

}  // namespace

void centred_scores(const Centred& centred, std::size_t j, const double* columns, double* space, double* scores) {
    const Vec<double> constant = broadcast(centred.constant[j]);
    const Vec<double> lowest = broadcast(std::numeric_limits<double>::lowest());
    for (std::size_t r = 0; r < centred_rows; r += together * width) {
        Vec<double> sum[together]{};
        add_squares(centred, centred.mean_of(j), centred.factor_of(j), columns + r, space, sum);
        Vec<double> score[together];
        for (std::size_t v = 0; v < together; ++v) score[v] = constant - broadcast(0.5) * sum[v];
        for (std::size_t a = 0; a < centred.linear_columns; ++a) {
            const double* column = columns + centred.linear_places[a] * centred_rows + r;
            const Vec<double> coefficient = broadcast(centred.linear_of(j)[a]);
            for (std::size_t v = 0; v < together; ++v) score[v] += coefficient * load(column + v * width);
        }
        for (std::size_t v = 0; v < together; ++v) store(scores + r + v * width, score[v] > lowest ? score[v] : lowest);
    }
}

void half_squares(const Centred& centred, std::size_t j, const double* columns, double* space, double* squares) {
    for (std::size_t r = 0; r < centred_rows; r += together * width) {
        Vec<double> sum[together]{};
        add_squares(centred, nullptr, centred.factor_of(j), columns + r, space, sum);
        for (std::size_t v = 0; v < together; ++v) store(squares + r + v * width, broadcast(0.5) * sum[v]);
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
