// Steps of small full Gaussians, a lane for each (see gaussian_step.hpp): all factorizations are as small as the number
// of columns, and there is no operation across lanes.

#include "gaussian/gaussian_step.hpp"

#include <cmath>

#include "dense/tile.hpp"
#include "gaussian/lane_matrices.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Space for one component per lane.
struct Lanes {
    explicit Lanes(std::size_t d, std::size_t n_statistics)
        : memory((3 * d * d + 2 * d + 2 * n_statistics) * width), matrix(reinterpret_cast<V*>(memory.get())),
          space(matrix + d * d), vectors(space + d * d), variances(vectors + d * d), solved(variances + d),
          moment(solved + d), theta(moment + n_statistics) {}

    Buffer<double> memory;
    V *matrix, *space, *vectors, *variances, *solved, *moment, *theta;
};

// Half the square of the solution of L y = x, and the sum of the logarithms of L's diagonal.
void solve(const V* a, const V* x, std::size_t d, V* y, V& half_square, V& log_diagonal) {
    half_square = log_diagonal = V{};
    for (std::size_t i = 0; i < d; ++i) {
        V sum = x[i];
        for (std::size_t l = 0; l < i; ++l) sum -= a[i * d + l] * y[l];
        y[i] = sum / a[i * d + i];
        half_square += 0.5 * y[i] * y[i];
    }
    // Of products of two: fewer logarithms, and none too large.
    for (std::size_t i = 0; i < d; i += 2)
        log_diagonal += logarithm(i + 1 < d ? a[i * (d + 1)] * a[(i + 1) * (d + 1)] : a[i * (d + 1)]);
}

// The places of W components in all; those past the last repeat it.
struct Places {
    std::size_t at[width];

    Places(std::size_t first, std::size_t last) {
        for (std::size_t lane = 0; lane < width; ++lane) at[lane] = first + lane < last ? first + lane : last - 1;
    }

    V read(const double* from, std::size_t stride, std::size_t offset) const {
        V values;
        for (std::size_t lane = 0; lane < width; ++lane) values[lane] = from[at[lane] * stride + offset];
        return values;
    }

    void write(double* to, std::size_t stride, std::size_t offset, V values) const {
        for (std::size_t lane = 0; lane < width; ++lane) to[at[lane] * stride + offset] = values[lane];
    }
};

void find_moments(const GaussianStep& step, const Places& places, V* moment) {
    const V total = places.read(step.counts, 1, 0) + step.prior_strength;
    const V divisor = total > V{} ? total : broadcast(1.0);
    for (std::size_t f = 0; f < step.n_statistics; ++f)
        moment[f] =
            (places.read(step.sums, step.n_statistics, f) + step.prior_strength * step.prior_moment[f]) / divisor;
}

// Eigenvalues, on the diagonal afterwards, and eigenvectors, in columns, of symmetric matrices by Jacobi's cyclic
// rotations, as in widening.hpp; exact in the lanes that are wanted.
void diagonalize(V* a, V* vectors, std::size_t d, Mask wanted) {
    constexpr int most_sweeps = 30;
    constexpr double rounding = 1e-30;  // of squares
    for (std::size_t i = 0; i < d * d; ++i) vectors[i] = broadcast(i % (d + 1) == 0 ? 1.0 : 0.0);
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
        V beside{}, on{};
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = 0; j <= i; ++j) (i == j ? on : beside) += a[i * d + j] * a[i * d + j];
        if (!any(wanted & (beside > rounding * on))) return;
        for (std::size_t p = 0; p + 1 < d; ++p)
            for (std::size_t q = p + 1; q < d; ++q) {
                const V entry = a[q * d + p], ratio = (a[q * d + q] - a[p * d + p]) / (2.0 * entry);
                const V sign = ratio >= V{} ? broadcast(1.0) : broadcast(-1.0);
                const V some = sign / (absolute<double>(ratio) + root(ratio * ratio + 1.0));
                const V tangent = entry == V{} ? V{} : some;
                const V cosine = 1.0 / root(tangent * tangent + 1.0), sine = tangent * cosine;
                const auto rotate = [&](V& left, V& right) {
                    const V turned = cosine * left - sine * right;
                    right = sine * left + cosine * right;
                    left = turned;
                };
                for (std::size_t i = 0; i < d; ++i) rotate(a[i * d + p], a[i * d + q]);
                for (std::size_t i = 0; i < d; ++i) rotate(a[p * d + i], a[q * d + i]);
                for (std::size_t i = 0; i < d; ++i) rotate(vectors[i * d + p], vectors[i * d + q]);
            }
    }
}

// Raises the eigenvalues of the covariances marked to at least one in units of a positive spread.
void widen(const GaussianStep& step, Mask narrow, Lanes& own) {
    const std::size_t d = step.columns;
    const double* spread = step.spread;
    V *a = own.matrix, *scaled = own.space, *vectors = own.vectors;
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            scaled[i * d + j] = scaled[j * d + i] = a[i * d + j] / (spread[i] * spread[j]);
    diagonalize(scaled, vectors, d, narrow);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            V sum{};
            for (std::size_t l = 0; l < d; ++l) {
                const V value = scaled[l * (d + 1)];
                sum += vectors[i * d + l] * (value > broadcast(1.0) ? value : broadcast(1.0)) * vectors[j * d + l];
            }
            a[i * d + j] = narrow ? sum * (spread[i] * spread[j]) : a[i * d + j];
        }
}

// Covariances of the moments, in `matrix`, and in which lanes they are far enough from singular.
Mask find_covariances(const GaussianStep& step, bool has_spread, bool all_spread, Lanes& own) {
    const std::size_t d = step.columns;
    V *a = own.matrix, *mean = own.moment;
    const V* second = mean + d;
    Mask good = ~Mask{};
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = i; j < d; ++j) a[j * d + i] = *second++ - mean[i] * mean[j];
        good &= a[i * d + i] > step.rounding * (a[i * d + i] + mean[i] * mean[i]);
    }
    if (!has_spread) return good;
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            own.space[i * d + j] = i == j ? a[i * d + i] - step.spread[i] * step.spread[i] : a[i * d + j];
    const Mask narrow = good & ~factor(own.space, d);
    if (!any(narrow)) return good;
    if (!all_spread) return good & ~narrow;
    widen(step, narrow, own);
    return good;
}

// Natural parameters of the moments, in `theta`, their F, and in which lanes they are not left to others.
Mask find_estimates(const GaussianStep& step, bool has_spread, bool all_spread, Lanes& own, V& normalizer) {
    const std::size_t d = step.columns;
    V *a = own.matrix, *mean = own.moment, *linear = own.theta, *packed = linear + d;
    Mask good = find_covariances(step, has_spread, all_spread, own);
    for (std::size_t i = 0; i < d; ++i) own.variances[i] = a[i * d + i];
    good &= factor(a, d);
    for (std::size_t i = 0; i < d; ++i) good &= a[i * d + i] * a[i * d + i] > step.smallest * own.variances[i];
    V half_square, log_diagonal;
    solve(a, mean, d, own.solved, half_square, log_diagonal);
    normalizer = half_square + log_diagonal;
    invert_lower(a, d);
    for (std::size_t i = 0; i < d; ++i) linear[i] = V{};
    // The trace of the inverse correlation bounds its largest eigenvalue.
    V trace{}, away{};
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = i; j < d; ++j) {
            V precision{};
            for (std::size_t l = j; l < d; ++l) precision += a[l * d + i] * a[l * d + j];
            linear[i] += precision * mean[j];
            if (i != j) linear[j] += precision * mean[i];
            if (i == j) {
                trace += precision * own.variances[i];
                away += step.center[i] * step.center[i] / own.variances[i];
            }
            *packed++ = i == j ? -0.5 * precision : -precision;
        }
    return good & (trace * root(away) < broadcast(step.far));
}

// In which lanes natural parameters have covariances no narrower than the spread.
Mask has_spread(const GaussianStep& step, const V* theta, V* space) {
    const std::size_t d = step.columns;
    const V* packed = theta + d;
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = i; j < d; ++j, ++packed) {
            const V scaled = *packed * (step.spread[i] * step.spread[j]);
            space[j * d + i] = i == j ? 1.0 + step.spread_rounding + 2.0 * scaled : scaled;
        }
    return factor(space, d);
}

// F of natural parameters, without the constant; NaN outside their space.
V log_normalizer(const V* theta, std::size_t d, Lanes& own) {
    const V* packed = theta + d;
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = i; j < d; ++j, ++packed) own.matrix[j * d + i] = i == j ? -2.0 * *packed : -*packed;
    const Mask good = factor(own.matrix, d);
    V half_square, log_diagonal;
    solve(own.matrix, theta, d, own.solved, half_square, log_diagonal);
    return good ? half_square - log_diagonal : broadcast(std::numeric_limits<double>::quiet_NaN());
}

// Points beyond the estimates, in place of the moments, and their F in place of that of the estimates.
void go_beyond(const GaussianStep& step, const Places& places, bool spread, Lanes& own, V& normalizer) {
    const V factors = places.read(step.factors, 1, 0);
    Mask moved = factors > V{};
    V* point = own.moment;
    for (std::size_t f = 0; f < step.n_statistics; ++f)
        point[f] = own.theta[f] + factors * (own.theta[f] - places.read(step.before, step.n_statistics, f));
    if (spread) moved &= has_spread(step, point, own.space);
    for (std::size_t f = 0; f < step.n_statistics; ++f) point[f] = moved ? point[f] : own.theta[f];
    normalizer = moved ? log_normalizer(point, step.columns, own) : normalizer;
}

}  // namespace

void gaussian_step(const GaussianStep& step, std::size_t first, std::size_t last) {
    const std::size_t d = step.columns, n_statistics = step.n_statistics;
    const double log_two_pi = std::log(2.0 * 3.14159265358979323846);
    Lanes own(d, n_statistics);
    bool spread = false, all_spread = true;
    for (std::size_t i = 0; i < d; ++i) {
        spread = spread || step.spread[i] > 0.0;
        all_spread = all_spread && step.spread[i] > 0.0;
    }
    for (std::size_t c = first; c < last; c += width) {
        const Places places(c, last);
        find_moments(step, places, own.moment);
        V normalizer;
        const Mask good = find_estimates(step, spread, all_spread, own, normalizer);
        go_beyond(step, places, spread, own, normalizer);
        V fit{}, size{};
        for (std::size_t f = 0; f < n_statistics; ++f) {
            const V point = own.moment[f];
            fit += point * step.prior_moment[f];
            size += absolute<double>(point) * step.largest[f];
            places.write(step.natural, n_statistics, f, own.theta[f]);
            places.write(step.beyond, n_statistics, f, point);
        }
        places.write(step.normalizers, 1, 0, normalizer + 0.5 * log_two_pi * static_cast<double>(d));
        places.write(step.fits, 1, 0, fit);
        places.write(step.sizes, 1, 0, size);
        for (std::size_t lane = 0; lane < width; ++lane) step.safe[places.at[lane]] = good[lane] != 0;
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
