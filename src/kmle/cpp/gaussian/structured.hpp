// Covariances that share volume, shape or orientation (Celeux and Govaert, 1995): the estimates of one mixture.
// families/covariance_models.py is the reference; see there for the formulas.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "gaussian/small_matrices.hpp"
#include "gaussian/widening.hpp"

namespace kmle {

inline constexpr std::size_t n_covariance_models = 14;
inline constexpr const char* covariance_models[n_covariance_models] = {
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"};

// Works on full d x d matrices, row by row; components without a count take part in nothing.
class StructuredEstimate {
public:
    StructuredEstimate(std::size_t columns, std::size_t components, const double* narrowest, double least,
                       double least_variance)
        : d(columns),
          k(components),
          spread(narrowest),
          smallest(least),
          rounding(least_variance),
          shares(k),
          volumes(k),
          own(k * d * d),
          covariances(k * d * d),
          values(k * d),
          vectors(k * d * d),
          pooled(d * d),
          space(d * d),
          axes(d * d),
          line(d),
          everywhere(std::all_of(narrowest, narrowest + columns, [](double s) { return s > 0.0; })),
          anywhere(std::any_of(narrowest, narrowest + columns, [](double s) { return s > 0.0; })),
          widest(*std::max_element(narrowest, narrowest + columns)) {}

    // False where a covariance is close to singular, or narrow in a column without a spread.
    bool run(const char* name, const double* counts, const double* moments, const double* before, double* natural) {
        model = name;
        if (!gather(counts, moments) || !estimate(before) || !resize()) return false;
        const std::size_t D = d + d * (d + 1) / 2;
        for (std::size_t j = 0; j < k; ++j)
            if (!write(covariance(j), moments + j * D, natural + j * D)) return false;
        return true;
    }

private:
    std::size_t d, k;
    const double* spread;
    double smallest, rounding;
    const char* model = "VVV";
    std::vector<double> shares, volumes, own, covariances, values, vectors, pooled, space, axes, line, wide;
    bool everywhere, anywhere;  // whether there is a spread in all columns, in any
    double widest;
    static constexpr double settled = 1e-9, axes_settled = 1e-6, tiny = 1e-300;
    static constexpr int most_turns = 100, most_turns_of_axes = 15;

    double* own_of(std::size_t j) { return own.data() + j * d * d; }
    double* covariance(std::size_t j) { return covariances.data() + j * d * d; }
    bool tied() const { return model[0] == 'E' && model[1] != 'V' && model[2] != 'V'; }

    // Shares, the covariances that components would have alone, and their mean.
    bool gather(const double* counts, const double* moments) {
        const double total = std::accumulate(counts, counts + k, 0.0);
        if (!(total > 0.0)) return false;
        std::fill(pooled.begin(), pooled.end(), 0.0);
        const std::size_t D = d + d * (d + 1) / 2;
        for (std::size_t j = 0; j < k; ++j) {
            shares[j] = counts[j] / total;
            if (!(counts[j] > 0.0)) continue;
            const double *mean = moments + j * D, *second = mean + d;
            double* a = own_of(j);
            for (std::size_t p = 0; p < d; ++p)
                for (std::size_t q = p; q < d; ++q) a[p * d + q] = a[q * d + p] = *second++ - mean[p] * mean[q];
            for (std::size_t p = 0; p < d; ++p)
                if (!(a[p * d + p] > rounding * (a[p * d + p] + mean[p] * mean[p]))) return false;
            for (std::size_t e = 0; e < d * d; ++e) pooled[e] += shares[j] * a[e];
            if (!tied() && !make_safe(a)) return false;
        }
        if (!make_safe(pooled.data())) return false;
        for (std::size_t j = 0; j < k; ++j)
            if (!(counts[j] > 0.0)) std::copy(pooled.begin(), pooled.end(), own_of(j));
        return true;
    }

    // Widens a covariance to the spread; false where it is not clearly positive definite even so.
    bool make_safe(double* a) {
        if (model[2] == 'I') return true;
        if (anywhere && !is_above(a, spread, d, space.data())) {
            if (!everywhere) return false;
            widen(a, spread, d, wide);
            for (std::size_t p = 0; p < d; ++p)
                for (std::size_t q = p + 1; q < d; ++q) a[p * d + q] = a[q * d + p];
        }
        std::copy(a, a + d * d, space.begin());
        if (!factor(space.data(), d)) return false;
        for (std::size_t p = 0; p < d; ++p)
            if (!(space[p * d + p] * space[p * d + p] > smallest * a[p * d + p])) return false;
        return true;
    }

    bool estimate(const double* before) {
        switch (model[2]) {
            case 'I':
                return along_columns(before);
            case 'E':
                return model[1] == 'V' ? common_axes(before) : common_matrix(before);
            default:
                return model[1] == 'V' ? own_matrices() : own_axes(before);
        }
    }

    double volume(const double* variances) const {
        double sum = 0.0;
        for (std::size_t p = 0; p < d; ++p) sum += std::log(std::max(variances[p], tiny));
        return std::exp(sum / static_cast<double>(d));
    }

    // |A|^(1/d); zero where it is not positive definite.
    double determinant_root(const double* a) {
        std::copy(a, a + d * d, space.begin());
        if (!factor(space.data(), d)) return 0.0;
        double sum = 0.0;
        for (std::size_t p = 0; p < d; ++p) sum += std::log(space[p * d + p]);
        return std::exp(2.0 * sum / static_cast<double>(d));
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

    // The volumes that turns begin with: those of `before`, or those that components would have alone.
    bool first_volumes(const double* before) {
        const std::size_t D = d + d * (d + 1) / 2;
        for (std::size_t j = 0; j < k; ++j) {
            if (before == nullptr) {
                volumes[j] = determinant_root(own_of(j));
            } else {
                precision(before + j * D, covariance(j));
                volumes[j] = 1.0 / determinant_root(covariance(j));
            }
            if (!(volumes[j] > 0.0) || !std::isfinite(volumes[j])) return false;
        }
        return true;
    }

    // Round covariances, and those along the columns.
    bool along_columns(const double* before) {
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t p = 0; p < d; ++p) {
                const double* a = tied() ? pooled.data() : own_of(j);
                values[j * d + p] = a[p * d + p];
            }
        if (model[1] == 'I') {
            for (std::size_t j = 0; j < k; ++j) {
                double* v = values.data() + j * d;
                const double mean = std::accumulate(v, v + d, 0.0) / static_cast<double>(d);
                std::fill(v, v + d, std::max(mean, widest * widest));
            }
        } else {
            for (std::size_t e = 0; e < k * d; ++e)
                values[e] = std::max(values[e], spread[e % d] * spread[e % d]);
        }
        if (model[0] == 'V' && model[1] == 'E') {
            const std::size_t D = d + d * (d + 1) / 2;
            for (std::size_t j = 0; j < k; ++j) {
                if (before == nullptr) {
                    volumes[j] = volume(values.data() + j * d);
                } else {
                    precision(before + j * D, space.data());
                    for (std::size_t p = 0; p < d; ++p) line[p] = 1.0 / space[p * d + p];
                    volumes[j] = volume(line.data());
                }
                if (!std::isfinite(volumes[j])) return false;
            }
            equal_shapes();
        } else if (model[0] == 'E' && model[1] == 'V') {
            equal_volumes();
        }
        for (std::size_t j = 0; j < k; ++j) {
            double* a = covariance(j);
            std::fill(a, a + d * d, 0.0);
            for (std::size_t p = 0; p < d; ++p) a[p * d + p] = values[j * d + p];
        }
        return true;
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
            for (std::size_t p = 0; p < d; ++p) line[p] /= size;
            bool still = true;
            for (std::size_t j = 0; j < k; ++j) {
                double sum = 0.0;
                for (std::size_t p = 0; p < d; ++p) sum += values[j * d + p] / line[p];
                const double next = std::max(sum / static_cast<double>(d), tiny);
                still = still && std::abs(next - volumes[j]) <= settled * next;
                volumes[j] = next;
            }
            if (still) break;
        }
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t p = 0; p < d; ++p) values[j * d + p] = volumes[j] * line[p];
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
            invert_product();
            bool still = true;
            for (std::size_t j = 0; j < k; ++j) {
                double sum = 0.0;
                for (std::size_t e = 0; e < d * d; ++e) sum += own_of(j)[e] * covariances[e];
                const double next = std::max(sum / static_cast<double>(d), tiny);
                still = still && std::abs(next - volumes[j]) <= settled * next;
                volumes[j] = next;
            }
            if (still) break;
        }
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t e = 0; e < d * d; ++e) covariance(j)[e] = volumes[j] * axes[e];
        return true;
    }

    // The inverse from the inverse of its factor in `space`, into the first of the covariances.
    void invert_product() {
        for (std::size_t p = 0; p < d; ++p)
            for (std::size_t q = p; q < d; ++q) {
                double sum = 0.0;
                for (std::size_t l = q; l < d; ++l) sum += space[l * d + p] * space[l * d + q];
                covariances[p * d + q] = covariances[q * d + p] = sum;
            }
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
        for (std::size_t j = 0; j < k; ++j) see_along_axes(own_of(j), covariance(j));
        for (int turn = 0; turn < most_turns_of_axes; ++turn) {
            variances_along_axes();
            if (turned() <= axes_settled) break;
        }
        variances_along_axes();
        for (std::size_t j = 0; j < k; ++j) compose(j, axes.data());
        return true;
    }

    // Eigenvectors of an uneven mean, so that no two axes have equal lengths by chance.
    bool first_axes(const double* before) {
        const std::size_t D = d + d * (d + 1) / 2;
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

    // axes' A axes
    void see_along_axes(const double* a, double* seen) {
        for (std::size_t p = 0; p < d; ++p)
            for (std::size_t l = 0; l < d; ++l) {
                double sum = 0.0;
                for (std::size_t q = 0; q < d; ++q) sum += a[p * d + q] * axes[q * d + l];
                space[p * d + l] = sum;
            }
        for (std::size_t l = 0; l < d; ++l)
            for (std::size_t m = 0; m < d; ++m) {
                double sum = 0.0;
                for (std::size_t p = 0; p < d; ++p) sum += axes[p * d + l] * space[p * d + m];
                seen[l * d + m] = sum;
            }
    }

    void variances_along_axes() {
        for (std::size_t j = 0; j < k; ++j)
            for (std::size_t l = 0; l < d; ++l) values[j * d + l] = std::max(covariance(j)[l * d + l], tiny);
        if (model[0] == 'E') equal_volumes();
    }

    // Turns each pair of axes by its best angle; returns the largest sine of twice the angle.
    double turned() {
        double largest = 0.0;
        for (std::size_t l = 0; l + 1 < d; ++l)
            for (std::size_t m = l + 1; m < d; ++m) {
                double cosine = 0.0, sine = 0.0;
                for (std::size_t j = 0; j < k; ++j) {
                    const double u = shares[j] * (1.0 / values[j * d + l] - 1.0 / values[j * d + m]);
                    const double* a = covariance(j);
                    cosine += 0.5 * u * (a[l * d + l] - a[m * d + m]);
                    sine += u * a[l * d + m];
                }
                if (cosine == 0.0 && sine == 0.0) continue;
                const double angle = 0.5 * std::atan2(-sine, -cosine);
                largest = std::max(largest, std::abs(std::sin(2.0 * angle)));
                const double c = std::cos(angle), s = std::sin(angle);
                turn_columns(axes.data(), l, m, c, s);
                for (std::size_t j = 0; j < k; ++j) {
                    turn_columns(covariance(j), l, m, c, s);
                    turn_rows(covariance(j), l, m, c, s);
                }
            }
        return largest;
    }

    void turn_columns(double* a, std::size_t l, std::size_t m, double c, double s) const {
        for (std::size_t p = 0; p < d; ++p) {
            const double one = a[p * d + l], other = a[p * d + m];
            a[p * d + l] = c * one + s * other;
            a[p * d + m] = c * other - s * one;
        }
    }

    void turn_rows(double* a, std::size_t l, std::size_t m, double c, double s) const {
        for (std::size_t p = 0; p < d; ++p) {
            const double one = a[l * d + p], other = a[m * d + p];
            a[l * d + p] = c * one + s * other;
            a[m * d + p] = c * other - s * one;
        }
    }

    // Raises volumes until no component is narrower than the spread.
    bool resize() {
        if (!anywhere) return true;
        double largest = 1.0;
        for (std::size_t j = 0; j < k; ++j) {
            volumes[j] = 1.0;
            if (is_above(covariance(j), spread, d, space.data())) continue;
            volumes[j] = std::max(narrowness(covariance(j)), 1.0);
            if (!std::isfinite(volumes[j])) return false;
            largest = std::max(largest, volumes[j]);
        }
        if (largest == 1.0) return true;
        for (std::size_t j = 0; j < k; ++j) {
            const double scale = model[0] == 'E' ? largest : volumes[j];
            for (std::size_t e = 0; e < d * d; ++e) covariance(j)[e] *= scale;
        }
        return true;
    }

    // The largest eigenvalue of the precision in units of the spread; NaN where there is none.
    double narrowness(const double* a) {
        std::copy(a, a + d * d, space.begin());
        if (!factor(space.data(), d)) return std::nan("");
        invert_lower(space.data(), d);
        wide.resize(2 * d * d);
        for (std::size_t p = 0; p < d; ++p)
            for (std::size_t q = p; q < d; ++q) {
                double sum = 0.0;
                for (std::size_t l = q; l < d; ++l) sum += space[l * d + p] * space[l * d + q];
                wide[p * d + q] = wide[q * d + p] = sum * spread[p] * spread[q];
            }
        diagonalize(wide.data(), wide.data() + d * d, d);
        double largest = 0.0;
        for (std::size_t p = 0; p < d; ++p) largest = std::max(largest, wide[p * d + p]);
        return largest;
    }

    // Natural parameters of a covariance and the mean that moments begin with; false where there are none.
    bool write(const double* a, const double* mean, double* natural) {
        std::copy(a, a + d * d, space.begin());
        if (!factor(space.data(), d)) return false;
        invert_lower(space.data(), d);
        double *linear = natural, *packed = natural + d;
        std::fill(linear, linear + d, 0.0);
        for (std::size_t p = 0; p < d; ++p)
            for (std::size_t q = p; q < d; ++q) {
                double entry = 0.0;
                for (std::size_t l = q; l < d; ++l) entry += space[l * d + p] * space[l * d + q];
                linear[p] += entry * mean[q];
                if (p != q) linear[q] += entry * mean[p];
                *packed++ = p == q ? -0.5 * entry : -entry;
            }
        return true;
    }
};

}  // namespace kmle
