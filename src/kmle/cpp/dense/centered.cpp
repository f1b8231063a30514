// Compiled without fused multiply-add (see CMakeLists.txt): every product is rounded before it is added.

#include "dense/centered.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Registers of rows that share a coefficient.
constexpr std::size_t at_once = 4, width = lanes<double>;
static_assert(centered_rows % (at_once * width) == 0);

// The sums of squares of L^T (x - mean) for a few registers of rows; without a mean, of the carried entries of L^T x.
inline void add_squares(const Centered& centered, const double* mean, const double* factor, const double* columns,
                        double* space, Vec<double> (&sum)[at_once]) {
    const std::size_t c = centered.columns;
    for (std::size_t a = 0; a < c; ++a)
        for (std::size_t v = 0; v < at_once; ++v)
            store(space + (a * at_once + v) * width,
                  load(columns + centered.places[a] * centered_rows + v * width) - broadcast(mean ? mean[a] : 0.0));
    for (std::size_t b = 0; b < c; ++b) {
        const double* difference = space + b * at_once * width;
        Vec<double> u[at_once];
        for (std::size_t v = 0; v < at_once; ++v) u[v] = broadcast(*factor) * load(difference + v * width);
        ++factor;
        for (std::size_t a = b + 1; centered.triangular && a < c; ++a, ++factor) {
            const Vec<double> coefficient = broadcast(*factor);
            difference += at_once * width;
            for (std::size_t v = 0; v < at_once; ++v) u[v] += coefficient * load(difference + v * width);
        }
        if (!mean && !centered.carried_columns[b]) continue;
        for (std::size_t v = 0; v < at_once; ++v) sum[v] += u[v] * u[v];
    }
}

}  // namespace

void centered_scores(const Centered& centered, std::size_t j, const double* columns, double* space, double* scores) {
    const Vec<double> constant = broadcast(centered.constant[j]);
    const Vec<double> lowest = broadcast(std::numeric_limits<double>::lowest());
    for (std::size_t r = 0; r < centered_rows; r += at_once * width) {
        Vec<double> sum[at_once]{};
        add_squares(centered, centered.mean_of(j), centered.factor_of(j), columns + r, space, sum);
        Vec<double> score[at_once];
        for (std::size_t v = 0; v < at_once; ++v) score[v] = constant - broadcast(0.5) * sum[v];
        for (std::size_t a = 0; a < centered.linear_columns; ++a) {
            const double* column = columns + centered.linear_places[a] * centered_rows + r;
            const Vec<double> coefficient = broadcast(centered.linear_of(j)[a]);
            for (std::size_t v = 0; v < at_once; ++v) score[v] += coefficient * load(column + v * width);
        }
        for (std::size_t v = 0; v < at_once; ++v) store(scores + r + v * width, score[v] > lowest ? score[v] : lowest);
    }
}

void half_squares(const Centered& centered, std::size_t j, const double* columns, double* space, double* squares) {
    for (std::size_t r = 0; r < centered_rows; r += at_once * width) {
        Vec<double> sum[at_once]{};
        add_squares(centered, nullptr, centered.factor_of(j), columns + r, space, sum);
        for (std::size_t v = 0; v < at_once; ++v) store(squares + r + v * width, broadcast(0.5) * sum[v]);
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
