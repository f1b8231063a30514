// Marginals of Gaussians and expected statistics, a lane for each component (see patterns.hpp).

#include "patterns/patterns.hpp"

#include <cmath>

#include "core/list.hpp"
#include "gaussian/lane_matrices.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Where x_a x_b stands among the products of d columns, a <= b.
inline std::size_t product_place(std::size_t a, std::size_t b, std::size_t d) {
    return d + a * (2 * d - a + 1) / 2 + b - a;
}

// Means and covariances of some components, a lane for each.
struct Reader {
    const LaneGaussians& all;
    std::size_t first;

    V mean(std::size_t a) const { return load(all.mean + a * all.padded + first); }
    V covariance(std::size_t a, std::size_t b) const {
        return load(all.covariance + (a * all.columns + b) * all.padded + first);
    }
};

}  // namespace

void see_pattern(const LaneGaussians& all, const Pattern& pattern, const Marginals& out) {
    const std::size_t d = all.columns, o = pattern.n_observed, *at = pattern.observed;
    const double log_two_pi = std::log(2.0 * 3.14159265358979323846);
    Buffer<double> memory((o * o + o) * width);
    V *a = reinterpret_cast<V*>(memory.get()), *linear = a + o * o;
    for (std::size_t first = 0; first < all.padded; first += width) {
        const Reader read{all, first};
        for (std::size_t i = 0; i < o; ++i)
            for (std::size_t j = 0; j <= i; ++j) a[i * o + j] = read.covariance(at[i], at[j]);
        const Mask good = factor(a, o);
        V constant = broadcast(-0.5 * log_two_pi * static_cast<double>(o));
        // Of products of two: fewer logarithms, and none too large.
        for (std::size_t i = 0; i < o; i += 2)
            constant -= logarithm(i + 1 < o ? a[i * (o + 1)] * a[(i + 1) * (o + 1)] : a[i * (o + 1)]);
        invert_lower(a, o);
        for (std::size_t i = 0; i < o; ++i) {
            linear[i] = V{};
            for (std::size_t j = 0; j <= i; ++j)
                store(out.inverse + (i * o + j) * all.padded + first, good ? a[i * o + j] : broadcast(std::nan("")));
        }
        for (std::size_t i = 0; i < o; ++i)
            for (std::size_t j = i; j < o; ++j) {
                V precision{};
                for (std::size_t l = j; l < o; ++l) precision += a[l * o + i] * a[l * o + j];
                linear[i] += precision * read.mean(at[j]);
                if (i != j) linear[j] += precision * read.mean(at[i]);
                const V natural = i == j ? -0.5 * precision : -precision;
                store(out.natural + product_place(at[i], at[j], d) * all.padded + first,
                      good ? natural : broadcast(std::nan("")));
            }
        for (std::size_t i = 0; i < o; ++i) {
            store(out.natural + at[i] * all.padded + first, linear[i]);
            constant -= 0.5 * linear[i] * read.mean(at[i]);
        }
        store(out.constant + first, good ? constant : broadcast(std::nan("")));
    }
}

void complete_pattern(const LaneGaussians& all, const Pattern& pattern, const Marginals& seen, const Completion& rows) {
    const std::size_t d = all.columns, o = pattern.n_observed, m = pattern.n_missing;
    const std::size_t *at = pattern.observed, *lost = pattern.missing;
    Buffer<double> memory((o * o + m * o + m * o + o + o) * width);
    V *inside = reinterpret_cast<V*>(memory.get()), *slope = inside + o * o, *between = slope + m * o;
    V *delta = between + m * o, *half = delta + o;
    for (std::size_t first = 0; first < all.padded; first += width) {
        const Reader read{all, first};
        const auto sums = [&](std::size_t statistic) {
            V values{};
            for (std::size_t lane = 0; lane < width && first + lane < rows.components; ++lane)
                values[lane] = rows.sums[(first + lane) * rows.n_statistics + statistic];
            return values;
        };
        const auto add = [&](double* to, std::size_t entry, V values) {
            double* place = to + entry * all.padded + first;
            store(place, load(place) + values);
        };
        V count{};
        for (std::size_t lane = 0; lane < width && first + lane < rows.components; ++lane)
            count[lane] = rows.counts[first + lane];
        for (std::size_t i = 0; i < o; ++i) {
            delta[i] = sums(at[i]) - count * read.mean(at[i]);
            add(rows.delta, at[i], delta[i]);
        }
        // sum (x - m)(x - m)' = sum x x' - m d' - d m' - n m m', d being the sum of x - m.
        for (std::size_t i = 0; i < o; ++i)
            for (std::size_t j = i; j < o; ++j) {
                const V mean_i = read.mean(at[i]), mean_j = read.mean(at[j]);
                V value = sums(product_place(at[i], at[j], d)) - mean_i * delta[j];
                value -= delta[i] * mean_j + count * mean_i * mean_j;
                inside[i * o + j] = inside[j * o + i] = value;
                add(rows.scatter, at[i] * d + at[j], value);
                if (i != j) add(rows.scatter, at[j] * d + at[i], value);
            }
        for (std::size_t u = 0; u < m; ++u) {
            // Sigma_uo Sigma_oo^-1, by the inverse of the factor and by its transpose.
            for (std::size_t i = 0; i < o; ++i) {
                half[i] = V{};
                for (std::size_t j = 0; j <= i; ++j)
                    half[i] += load(seen.inverse + (i * o + j) * all.padded + first) * read.covariance(lost[u], at[j]);
            }
            V expected{};
            for (std::size_t i = 0; i < o; ++i) {
                slope[u * o + i] = V{};
                for (std::size_t l = i; l < o; ++l)
                    slope[u * o + i] += load(seen.inverse + (l * o + i) * all.padded + first) * half[l];
                expected += slope[u * o + i] * delta[i];
            }
            add(rows.delta, lost[u], expected);
            for (std::size_t i = 0; i < o; ++i) {
                V value{};
                for (std::size_t l = 0; l < o; ++l) value += slope[u * o + l] * inside[l * o + i];
                between[u * o + i] = value;
                add(rows.scatter, lost[u] * d + at[i], value);
                add(rows.scatter, at[i] * d + lost[u], value);
            }
        }
        for (std::size_t u = 0; u < m; ++u)
            for (std::size_t v = u; v < m; ++v) {
                V value{}, rest = read.covariance(lost[u], lost[v]);
                for (std::size_t i = 0; i < o; ++i) {
                    value += between[u * o + i] * slope[v * o + i];
                    rest -= slope[u * o + i] * read.covariance(lost[v], at[i]);
                }
                value += count * rest;
                add(rows.scatter, lost[u] * d + lost[v], value);
                if (u != v) add(rows.scatter, lost[v] * d + lost[u], value);
            }
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
