// Components in the forms the passes want.

#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "bindings/arrays.hpp"
#include "core/memory.hpp"
#include "core/packed.hpp"

namespace kmle {

using Natural = Strided<const double, 2>;
using Bias = Strided<const double, 1>;

// Natural parameters and biases where they lie.
struct Components {
    const double *natural, *bias;
    std::int64_t natural_stride, statistic_stride, bias_stride;
    std::size_t count, n_statistics;

    Components(const Natural& natural, const Bias& bias)
        : natural(natural.data()), bias(bias.data()), natural_stride(natural.stride(0)),
          statistic_stride(natural.stride(1)), bias_stride(bias.stride(0)), count(natural.shape(0)),
          n_statistics(natural.shape(1)) {}
    Components(const double* natural, const double* bias, std::size_t count, std::size_t n_statistics)
        : natural(natural), bias(bias), natural_stride(static_cast<std::int64_t>(n_statistics)), statistic_stride(1),
          bias_stride(1), count(count), n_statistics(n_statistics) {}
    // Of natural parameters that lie `stride` apart, their statistics `step`.
    Components(const double* natural, std::int64_t stride, std::int64_t step, const double* bias, std::size_t count,
               std::size_t n_statistics)
        : natural(natural), bias(bias), natural_stride(stride), statistic_stride(step), bias_stride(1), count(count),
          n_statistics(n_statistics) {}
};

// Natural parameters and biases in every form the passes want.
template <class T>
class GroupedModel {
public:
    GroupedModel(const Natural& natural, const Bias& bias)
        : GroupedModel(Components(natural, bias), 0, natural.shape(0)) {}

    // Of `components` of them, from `first` on.
    GroupedModel(const Components& given, std::size_t first, std::size_t components)
        : GroupedModel(given.natural + static_cast<std::int64_t>(first) * given.natural_stride, given.natural_stride,
                       given.statistic_stride, given.bias + static_cast<std::int64_t>(first) * given.bias_stride,
                       given.bias_stride, components, given.n_statistics) {}

    // Of natural parameters and biases that lie one after the other.
    GroupedModel(const double* natural, const double* bias, std::size_t components, std::size_t n_statistics)
        : GroupedModel(natural, static_cast<std::int64_t>(n_statistics), 1, bias, 1, components, n_statistics) {}

    Model<T> view(const Centered* centered = nullptr) const {
        return {grouped_.get(), grouped_bias_.get(), natural_.data(), bias_.data(),       largest_.data(),
                largest_bias_,  components_,         n_statistics_,   magnitudes_.data(), centered};
    }

private:
    // Natural parameters lie `stride` apart, their statistics `step`.
    GroupedModel(const double* natural, std::int64_t stride, std::int64_t step, const double* bias,
                 std::int64_t bias_stride, std::size_t components, std::size_t n_statistics)
        : components_(components), n_statistics_(n_statistics), natural_(components_ * n_statistics_, 0.0),
          bias_(components_), largest_(n_statistics_, 0.0), grouped_(aligned<T>(padded() * n_statistics_)),
          grouped_bias_(aligned<T>(padded())) {
        for (std::size_t j = 0; j < components_; ++j) {
            bias_[j] = bias[static_cast<std::int64_t>(j) * bias_stride];
            if (std::isinf(bias_[j])) continue;  // inactive: its natural parameter may be anything and stays zero
            largest_bias_ = std::max(largest_bias_, std::abs(bias_[j]));
            for (std::size_t f = 0; f < n_statistics_; ++f) {
                const double value =
                    natural[static_cast<std::int64_t>(j) * stride + static_cast<std::int64_t>(f) * step];
                natural_[j * n_statistics_ + f] = value;
                largest_[f] = std::max(largest_[f], std::abs(value));
            }
        }
        for (std::size_t j = 0; j < padded(); ++j) {
            grouped_bias_[j] = j < components_ ? static_cast<T>(bias_[j]) : -std::numeric_limits<T>::infinity();
            for (std::size_t f = 0; f < n_statistics_; ++f)
                grouped_[(j / group * n_statistics_ + f) * group + j % group] =
                    j < components_ ? static_cast<T>(natural_[j * n_statistics_ + f]) : T(0);
        }
        if (sizeof(T) == 8) return;
        magnitudes_.assign((n_statistics_ + 1) * padded(), 0.0f);
        for (std::size_t j = 0; j < components_; ++j) {
            if (std::isinf(bias_[j])) continue;
            magnitudes_[j] = static_cast<float>(std::abs(bias_[j]));
            for (std::size_t f = 0; f < n_statistics_; ++f)
                magnitudes_[(f + 1) * padded() + j] = static_cast<float>(std::abs(natural_[j * n_statistics_ + f]));
        }
    }

    std::size_t padded() const { return rounded_up(components_, group); }

    std::size_t components_, n_statistics_;
    std::vector<double> natural_, bias_, largest_;
    double largest_bias_ = 0.0;
    std::vector<float> magnitudes_;
    Aligned<T> grouped_, grouped_bias_;
};

}  // namespace kmle
