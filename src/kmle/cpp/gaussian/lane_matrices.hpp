// Small d x d matrices, row by row, a lane for each component: no operation goes across lanes.

#pragma once

#include <cmath>

#include "core/simd.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

using V = Vec<double>;
using Mask = IntVec<double>;
constexpr std::size_t width = lanes<double>;

inline V root(V x) {
#if KMLE_VECTOR_BYTES == 64
    return (V)_mm512_sqrt_pd((__m512d)x);
#elif KMLE_VECTOR_BYTES == 32
    return (V)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
    return (V)_mm_sqrt_pd((__m128d)x);
#else
    for (std::size_t lane = 0; lane < width; ++lane) x[lane] = std::sqrt(x[lane]);
    return x;
#endif
}

inline V logarithm(V x) {
    for (std::size_t lane = 0; lane < width; ++lane) x[lane] = std::log(x[lane]);
    return x;
}

// The lower Cholesky factor in place of the lower triangle, and in which lanes there is one.
inline Mask factor(V* a, std::size_t d) {
    Mask good = ~Mask{};
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            V sum = a[i * d + j];
            for (std::size_t l = 0; l < j; ++l) sum -= a[i * d + l] * a[j * d + l];
            if (i > j) {
                a[i * d + j] = sum * a[j * d + j];
            } else {
                good &= sum > V{};
                // Its inverse until the end: one division for each column.
                a[i * d + i] = 1.0 / root(good ? sum : broadcast(1.0));
            }
        }
    for (std::size_t i = 0; i < d; ++i) a[i * d + i] = 1.0 / a[i * d + i];
    return good;
}

// The inverse of a lower triangular matrix, in its place.
inline void invert_lower(V* a, std::size_t d) {
    for (std::size_t j = 0; j < d; ++j) {
        a[j * d + j] = 1.0 / a[j * d + j];
        for (std::size_t i = j + 1; i < d; ++i) {
            V sum{};
            for (std::size_t l = j; l < i; ++l) sum -= a[i * d + l] * a[l * d + j];
            a[i * d + j] = sum / a[i * d + i];
        }
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
