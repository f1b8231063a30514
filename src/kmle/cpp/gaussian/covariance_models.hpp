// Covariances that share volume, shape or orientation (Celeux and Govaert, 1995), for those that components would have
// alone. families/covariance_models.py is the reference; see there for the formulas.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "gaussian/common_axes.hpp"
#include "gaussian/small_matrices.hpp"
#include "gaussian/widening.hpp"

namespace kmle {

inline constexpr std::size_t n_covariance_models = 14;
inline constexpr const char* covariance_models[n_covariance_models] = {"EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE",
                                                                       "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"};

// Full d x d matrices of k components, row by row. `own` and `pooled` are given, `covariances` are found.
class SharedCovariances {
protected:
    SharedCovariances(std::size_t columns, std::size_t components)
        : d(columns), k(components), D(columns + columns * (columns + 1) / 2), shares(k), volumes(k), own(k * d * d),
          covariances(k * d * d), values(k * d), vectors(k * d * d), pooled(d * d), space(d * d), axes(d * d), line(d) {
    }

    std::size_t d, k, D;
    const char* model = "VVV";
    std::vector<double> shares, volumes, own, covariances, values, vectors, pooled, space, axes, line;
    static constexpr double settled = 1e-9, axes_settled = 1e-6, tiny = 1e-300;
    static constexpr int most_turns = 100, most_turns_of_axes = 15;

    double* own_of(std::size_t j) { return own.data() + j * d * d; }
    double* covariance(std::size_t j) { return covariances.data() + j * d * d; }
    // EII, EEI and EEE.
    bool tied() const { return model[0] == 'E' && model[1] != 'V' && model[2] != 'V'; }
    // Whether components have shapes of their own: then each needs a covariance that is not singular.
    bool has_shapes() const { return model[1] == 'V'; }

    // From the natural parameters `before`, or from what components would be alone where there are none.
    bool share(const double* before) {
        switch (model[2]) {
            case 'I': return model[0] == 'V' && model[1] == 'E' ? shaped_along_columns(before) : along_columns();
            case 'E': return model[1] == 'V' ? common_axes(before) : common_matrix(before);
            default: return model[1] == 'V' ? own_matrices() : own_axes(before);
        }
    }

    // |A|^(1/d); zero where it is not positive definite.
    double determinant_root(const double* a) {
        std::copy(a, a + d * d, space.begin());
        if (!factor(space.data(), d)) return 0.0;
        double sum = 0.0;
        for (std::size_t p = 0; p < d; ++p) sum += std::log(space[p * d + p]);
        return std::exp(2.0 * sum / static_cast<double>(d));
    }

private:
    double volume(const double* variances) const {
        double sum = 0.0;
        for (std::size_t p = 0; p < d; ++p) sum += std::log(std::max(variances[p], tiny));
        return std::exp(sum / static_cast<double>(d));
    }

    // The precision of a component's natural parameters, in `a`.
    void precision(const double* natural, double* a) const {
        const double* packed = natural + d;
        for (std::size_t p = 0; p < d; ++p)
            for (std::size_t q = p; q < d; ++q) {
                const double entry = *packed++;
                a[p * d + q] = a[q * d + p] = p == q ? -2.0 * entry : -entry;
            }
    }

    // The volumes that turns begin with: those of `before`, or the mean variances that components would have alone.
    bool first_volumes(const double* before) {
        for (std::size_t j = 0; j < k; ++j) {
            if (before == nullptr) {
                volumes[j] = 0.0;
                for (std::size_t p = 0; p < d; ++p) volumes[j] += own_of(j)[p * d + p] / static_cast<double>(d);
            } else {
                precision(before + j * D, covariance(j));
                volumes[j] = 1.0 / determinant_root(covariance(j));
            }
            if (!(volumes[j] > 0.0) || !std::isfinite(volumes[j])) return false;
        }
        return true;
    }

    // Values (k, d) as variances of columns.
    bool compose_diagonals() {
        std::fill(covariances.begin(), covariances.end(), 0.0);
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t p = 0; p < d; ++p) covariance(j)[p * d + p] = values[j * d + p];
        return true;
    }

    void take_diagonals() {
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t p = 0; p < d; ++p) values[j * d + p] = (tied() ? pooled.data() : own_of(j))[p * d + p];
    }

    // EII, VII, EEI, EVI and VVI.
    bool along_columns() {
        take_diagonals();
        for (std::size_t j = 0; model[1] == 'I' && j < k; ++j) {
            double* v = values.data() + j * d;
            std::fill(v, v + d, std::accumulate(v, v + d, 0.0) / static_cast<double>(d));
        }
        if (model[0] == 'E' && model[1] == 'V') equal_volumes();
        return compose_diagonals();
    }

    // VEI.
    bool shaped_along_columns(const double* before) {
        if (!first_volumes(before)) return false;
        take_diagonals();
        equal_shapes();
        return compose_diagonals();
    }

    // Values (k, d) of one volume, the mean of theirs.
    void equal_volumes() {
        double mean = 0.0;
        for (std::size_t j = 0; j < k; ++j) {
            volumes[j] = volume(values.data() + j * d);
            mean += shares[j] * volumes[j];
        }
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t p = 0; p < d; ++p) values[j * d + p] *= mean / volumes[j];
    }

    // Values (k, d) of one shape, in turns from the present volumes.
    void equal_shapes() {
        for (int turn = 0; turn < most_turns; ++turn) {
            std::fill(line.begin(), line.end(), 0.0);
            for (std::size_t j = 0; j < k; ++j)
                for (std::size_t p = 0; p < d; ++p) line[p] += shares[j] * values[j * d + p] / volumes[j];
            const double size = volume(line.data());
            for (std::size_t p = 0; p < d; ++p) line[p] = std::max(line[p] / size, tiny);
            bool still = true;
            for (std::size_t j = 0; j < k; ++j) {
                double sum = 0.0;
                for (std::size_t p = 0; p < d; ++p) sum += values[j * d + p] / line[p];
                still = settles(j, sum / static_cast<double>(d)) && still;
            }
            if (still) break;
        }
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t p = 0; p < d; ++p) values[j * d + p] = volumes[j] * line[p];
    }

    // Gives a component its next volume; whether that is the one it had.
    bool settles(std::size_t j, double size) {
        const double next = std::max(size, tiny);
        const bool still = std::abs(next - volumes[j]) <= settled * next;
        volumes[j] = next;
        return still;
    }

    // EEE and VEE.
    bool common_matrix(const double* before) {
        if (model[0] == 'E') {
            for (std::size_t j = 0; j < k; ++j) std::copy(pooled.begin(), pooled.end(), covariance(j));
            return true;
        }
        if (!first_volumes(before)) return false;
        for (int turn = 0; turn < most_turns; ++turn) {
            std::fill(axes.begin(), axes.end(), 0.0);
            for (std::size_t j = 0; j < k; ++j)
                for (std::size_t e = 0; e < d * d; ++e) axes[e] += shares[j] / volumes[j] * own_of(j)[e];
            const double size = determinant_root(axes.data());
            if (!(size > 0.0)) return false;
            for (double& entry : axes) entry /= size;
            std::copy(axes.begin(), axes.end(), space.begin());
            if (!factor(space.data(), d)) return false;
            invert_lower(space.data(), d);
            multiply_inverse(space.data(), d, covariances.data());
            bool still = true;
            for (std::size_t j = 0; j < k; ++j) {
                double sum = 0.0;
                for (std::size_t e = 0; e < d * d; ++e) sum += own_of(j)[e] * covariances[e];
                still = settles(j, sum / static_cast<double>(d)) && still;
            }
            if (still) break;
        }
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t e = 0; e < d * d; ++e) covariance(j)[e] = volumes[j] * axes[e];
        return true;
    }

    // EEV and VEV: eigenvectors of each, eigenvalues in ascending order.
    bool own_axes(const double* before) {
        const bool equal = model[0] == 'E';
        if (!equal && !first_volumes(before)) return false;
        std::vector<std::size_t> order(d);
        for (std::size_t j = 0; j < k; ++j) {
            std::copy(own_of(j), own_of(j) + d * d, space.begin());
            diagonalize(space.data(), axes.data(), d);
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::sort(order.begin(), order.end(),
                      [&](std::size_t a, std::size_t b) { return space[a * d + a] < space[b * d + b]; });
            for (std::size_t p = 0; p < d; ++p) {
                values[j * d + p] = std::max(space[order[p] * d + order[p]], tiny);
                for (std::size_t i = 0; i < d; ++i) vectors[(j * d + i) * d + p] = axes[i * d + order[p]];
            }
        }
        if (equal) {
            std::fill(line.begin(), line.end(), 0.0);
            for (std::size_t j = 0; j < k; ++j)
                for (std::size_t p = 0; p < d; ++p) line[p] += shares[j] * values[j * d + p];
            for (std::size_t j = 0; j < k; ++j) std::copy(line.begin(), line.end(), values.begin() + j * d);
        } else {
            equal_shapes();
        }
        for (std::size_t j = 0; j < k; ++j) compose(j, vectors.data() + j * d * d);
        return true;
    }

    // A covariance with the values of component j along axes.
    void compose(std::size_t j, const double* directions) {
        for (std::size_t p = 0; p < d; ++p)
            for (std::size_t q = p; q < d; ++q) {
                double sum = 0.0;
                for (std::size_t l = 0; l < d; ++l)
                    sum += directions[p * d + l] * values[j * d + l] * directions[q * d + l];
                covariance(j)[p * d + q] = covariance(j)[q * d + p] = sum;
            }
    }

    // EVV and VVV.
    bool own_matrices() {
        double mean = 0.0;
        for (std::size_t j = 0; j < k && model[0] == 'E'; ++j) {
            volumes[j] = determinant_root(own_of(j));
            if (!(volumes[j] > 0.0)) return false;
            mean += shares[j] * volumes[j];
        }
        for (std::size_t j = 0; j < k; ++j) {
            const double scale = model[0] == 'E' ? mean / volumes[j] : 1.0;
            for (std::size_t e = 0; e < d * d; ++e) covariance(j)[e] = scale * own_of(j)[e];
        }
        return true;
    }

    // EVE and VVE. The covariances hold each S_j as seen along the axes until these no longer turn.
    bool common_axes(const double* before) {
        if (!first_axes(before)) return false;
        for (std::size_t j = 0; j < k; ++j) see_along(axes.data(), own_of(j), d, space.data(), covariance(j));
        for (int turn = 0; turn < most_turns_of_axes; ++turn) {
            variances_along_axes();
            const double turned = turn_axes(axes.data(), covariances.data(), shares.data(), values.data(), k, d);
            if (turned <= axes_settled) break;
        }
        variances_along_axes();
        for (std::size_t j = 0; j < k; ++j) compose(j, axes.data());
        return true;
    }

    // Eigenvectors of an uneven mean, so that no two axes have equal lengths by chance.
    bool first_axes(const double* before) {
        std::vector<double> mean(d * d, 0.0);
        for (std::size_t j = 0; j < k; ++j) {
            const double share = shares[j] * (1.0 + static_cast<double>(j) / static_cast<double>(2 * k));
            double* a = own_of(j);
            if (before != nullptr) precision(before + j * D, a = covariance(j));
            const double size = determinant_root(a);
            if (!(size > 0.0)) return false;
            for (std::size_t e = 0; e < d * d; ++e) mean[e] += share / size * a[e];
        }
        diagonalize(mean.data(), axes.data(), d);
        return true;
    }

    void variances_along_axes() {
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t l = 0; l < d; ++l) values[j * d + l] = std::max(covariance(j)[l * d + l], tiny);
        if (model[0] == 'E') equal_volumes();
    }
};

}  // namespace kmle
