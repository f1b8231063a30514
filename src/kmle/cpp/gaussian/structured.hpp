// The estimate of one mixture under a covariance model: from counts and moments to natural parameters.

#pragma once

#include "gaussian/covariance_models.hpp"

namespace kmle {

// Components without a count take part in nothing.
class StructuredEstimate : private SharedCovariances {
public:
    StructuredEstimate(std::size_t columns, std::size_t components, const double* narrowest, double least,
                       double least_variance)
        : SharedCovariances(columns, components), spread(narrowest), smallest(least), rounding(least_variance),
          everywhere(std::all_of(narrowest, narrowest + columns, [](double s) { return s > 0.0; })),
          anywhere(std::any_of(narrowest, narrowest + columns, [](double s) { return s > 0.0; })),
          widest(*std::max_element(narrowest, narrowest + columns)) {}

    // False where a covariance is close to singular, or narrow in a column without a spread. Where components share
    // a shape it is enough that what they share is not.
    bool run(const char* name, const double* counts, const double* moments, const double* before, double* natural) {
        model = name;
        if (!gather(counts, moments) || !share(before) || !resize()) return false;
        for (std::size_t j = 0; j < k; ++j)
            if (!write(covariance(j), moments + j * D, natural + j * D)) return false;
        return true;
    }

private:
    const double* spread;
    double smallest, rounding;
    bool everywhere, anywhere;  // whether there is a spread in all columns, in any
    double widest;
    std::vector<double> wide;

    // Shares, the covariances that components would have alone, and their mean.
    bool gather(const double* counts, const double* moments) {
        const double total = std::accumulate(counts, counts + k, 0.0);
        if (!(total > 0.0)) return false;
        std::fill(pooled.begin(), pooled.end(), 0.0);
        std::fill(line.begin(), line.end(), 0.0);
        for (std::size_t j = 0; j < k; ++j) {
            shares[j] = counts[j] / total;
            if (!(counts[j] > 0.0)) continue;
            if (!gather_own(moments + j * D, own_of(j))) return false;
            for (std::size_t e = 0; e < d * d; ++e) pooled[e] += shares[j] * own_of(j)[e];
            for (std::size_t p = 0; p < d; ++p) line[p] += shares[j] * moments[j * D + p] * moments[j * D + p];
            if (!tied() && !widened(own_of(j))) return false;
        }
        if (!std::all_of(pooled.begin(), pooled.end(), [](double value) { return std::isfinite(value); })) return false;
        for (std::size_t p = 0; p < d; ++p)
            if (!(pooled[p * d + p] > rounding * (pooled[p * d + p] + line[p])) && !(spread[p] > 0.0)) return false;
        if (!widened(pooled.data()) || (model[2] != 'I' && !clearly_definite(pooled.data()))) return false;
        for (std::size_t j = 0; j < k; ++j)
            if (!(counts[j] > 0.0)) std::copy(pooled.begin(), pooled.end(), own_of(j));
        return true;
    }

    // A covariance from moments; false where its variances are rounding, and the model cannot do without them.
    bool gather_own(const double* mean, double* a) const {
        const double* second = mean + d;
        double trace = 0.0, squares = 0.0;
        for (std::size_t p = 0; p < d; ++p) {
            for (std::size_t q = p; q < d; ++q) a[p * d + q] = a[q * d + p] = *second++ - mean[p] * mean[q];
            const double square = a[p * d + p] + mean[p] * mean[p];
            a[p * d + p] = std::max(a[p * d + p], 0.0);
            if (has_shapes() && !(a[p * d + p] > rounding * square)) return false;
            trace += a[p * d + p];
            squares += square;
        }
        return tied() || model[0] == 'E' || trace > rounding * squares;
    }

    // Widens a covariance to the spread; false where it is not clearly positive definite even so.
    bool widened(double* a) {
        if (model[2] == 'I') return widened_columns(a);
        if (anywhere && !is_above(a, spread, d, space.data())) {
            if (!everywhere) return false;
            widen(a, spread, d, wide);
            for (std::size_t p = 0; p < d; ++p)
                for (std::size_t q = p + 1; q < d; ++q) a[p * d + q] = a[q * d + p];
        }
        return !has_shapes() || clearly_definite(a);
    }

    // Of round components the mean variance is widened, of others each.
    bool widened_columns(double* a) const {
        double mean = 0.0;
        for (std::size_t p = 0; p < d; ++p) mean += a[p * d + p] / static_cast<double>(d);
        for (std::size_t p = 0; p < d; ++p)
            a[p * d + p] =
                model[1] == 'I' ? std::max(mean, widest * widest) : std::max(a[p * d + p], spread[p] * spread[p]);
        return true;
    }

    bool clearly_definite(const double* a) {
        std::copy(a, a + d * d, space.begin());
        if (!factor(space.data(), d)) return false;
        for (std::size_t p = 0; p < d; ++p)
            if (!(space[p * d + p] * space[p * d + p] > smallest * a[p * d + p])) return false;
        return true;
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
        multiply_inverse(space.data(), d, wide.data());
        for (std::size_t e = 0; e < d * d; ++e) wide[e] *= spread[e / d] * spread[e % d];
        diagonalize(wide.data(), wide.data() + d * d, d);
        double largest = 0.0;
        for (std::size_t p = 0; p < d; ++p) largest = std::max(largest, wide[p * d + p]);
        return largest;
    }

    // Natural parameters of a covariance and the mean that moments begin with; false where it is close to singular.
    bool write(const double* a, const double* mean, double* natural) {
        if (!clearly_definite(a)) return false;
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
