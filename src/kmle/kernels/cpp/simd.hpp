// Vectors of the width this file is compiled for, by the vector extensions of GCC and Clang, and an exponential.

#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifndef KMLE_VECTOR_BYTES
#error "KMLE_VECTOR_BYTES must be 16, 32 or 64"
#endif

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

constexpr std::size_t vector_bytes = KMLE_VECTOR_BYTES;

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(KMLE_VECTOR_BYTES)));
    using Integer = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    typedef Integer integer_type __attribute__((vector_size(KMLE_VECTOR_BYTES)));
};

template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
using IntVec = typename VectorOf<T>::integer_type;

template <class T>
constexpr std::size_t lanes = vector_bytes / sizeof(T);

template <class T>
inline Vec<T> load(const T* from) {
    return *reinterpret_cast<const Vec<T>*>(from);  // packed values and tiles are aligned to 64 bytes
}

template <class T>
inline void store(T* to, Vec<T> value) {
    *reinterpret_cast<Vec<T>*>(to) = value;
}

template <class T>
inline Vec<T> broadcast(T value) {
    return value - Vec<T>{};  // subtracting zero costs nothing; adding it is an addition, for the sake of -0
}

// Whether any lane of a comparison came true.
inline bool any(IntVec<double> flags) {
#if KMLE_VECTOR_BYTES == 64 && defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)flags) != 0;
#elif KMLE_VECTOR_BYTES == 32 && defined(__AVX2__)
    return _mm256_movemask_epi8((__m256i)flags) != 0;
#else
    std::int64_t found = 0;
    for (std::size_t lane = 0; lane < lanes<double>; ++lane) found |= flags[lane];
    return found != 0;
#endif
}

inline double sum_of_lanes(Vec<double> values) {
    double total = 0.0;
    for (std::size_t lane = 0; lane < lanes<double>; ++lane) total += values[lane];
    return total;
}

// Labels as whole numbers of the size of T, so that they compare with what is chosen lane by lane.
template <class T>
inline IntVec<T> widened(const std::int32_t* from) {
    typedef std::int32_t Narrow __attribute__((vector_size(4 * lanes<T>)));
    Narrow narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    return __builtin_convertvector(narrow, IntVec<T>);
}

template <class T>
inline Vec<T> absolute(Vec<T> x) {
    using Integer = typename VectorOf<T>::Integer;
    return (Vec<T>)((IntVec<T>)x & std::numeric_limits<Integer>::max());
}

template <class T>
inline T highest(Vec<T> x) {
    T values[lanes<T>];
    std::memcpy(values, &x, sizeof values);
#pragma GCC unroll 4
    for (std::size_t half = lanes<T> / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane)
            values[lane] = values[lane] > values[lane + half] ? values[lane] : values[lane + half];
    return values[0];
}

// One bit for each lane that holds.
template <class T>
inline unsigned bits_of(IntVec<T> holds) {
#if KMLE_VECTOR_BYTES == 64
    return sizeof(T) == 4 ? _mm512_movepi32_mask((__m512i)holds) : _mm512_movepi64_mask((__m512i)holds);
#elif KMLE_VECTOR_BYTES == 32
    return static_cast<unsigned>(sizeof(T) == 4 ? _mm256_movemask_ps((__m256)holds) : _mm256_movemask_pd((__m256d)holds));
#elif defined(__SSE2__)
    return static_cast<unsigned>(sizeof(T) == 4 ? _mm_movemask_ps((__m128)holds) : _mm_movemask_pd((__m128d)holds));
#else
    unsigned bits = 0;
    for (std::size_t lane = 0; lane < lanes<T>; ++lane) bits |= static_cast<unsigned>(holds[lane] & 1) << lane;
    return bits;
#endif
}

// Writes those of `count` values whose bits are set, one after the other. As many may be overwritten.
template <std::size_t count, class To, class From>
inline void write_chosen(To* to, const From* from, unsigned bits) {
    for (std::size_t lane = 0; lane < count; ++lane) {
        *to = static_cast<To>(from[lane]);
        to += bits >> lane & 1;
    }
}

#if KMLE_VECTOR_BYTES == 32
// For every choice of lanes, which they are.
struct ChosenLanes {
    std::uint8_t lane[256][8];
    constexpr ChosenLanes() : lane() {
        for (unsigned bits = 0; bits < 256; ++bits)
            for (unsigned from = 0, to = 0; from < 8; ++from)
                if (bits >> from & 1) lane[bits][to++] = static_cast<std::uint8_t>(from);
    }
};
inline constexpr ChosenLanes chosen_lanes;
#endif

// The same of the lanes of a vector.
inline void store_chosen(float* to, Vec<float> from, unsigned bits) {
#if KMLE_VECTOR_BYTES == 64
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), (__m512)from));
#elif KMLE_VECTOR_BYTES == 32
    const __m128i lane = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(chosen_lanes.lane[bits]));
    _mm256_storeu_ps(to, _mm256_permutevar8x32_ps((__m256)from, _mm256_cvtepu8_epi32(lane)));
#else
    write_chosen<lanes<float>>(to, reinterpret_cast<const float*>(&from), bits);
#endif
}

inline void store_chosen(float* to, Vec<double> from, unsigned bits) {
    double values[lanes<double>];
    std::memcpy(values, &from, sizeof values);
    write_chosen<lanes<double>>(to, values, bits);
}

// e^x for x <= 0, zero below -708; within two units in the last place.
inline Vec<double> exp_negative(Vec<double> x) {
    const Vec<double> shifter = broadcast(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to a whole number
    const Vec<double> log2e = broadcast(1.4426950408889634074);
    const IntVec<double> tiny = x < broadcast(-708.0);
    x = tiny ? broadcast(-708.0) : x;
    const Vec<double> shifted = x * log2e + shifter;
    const Vec<double> n = shifted - shifter;
    Vec<double> r = x - n * broadcast(6.93147180369123816490e-01);
    r = r - n * broadcast(1.90821492927058770002e-10);
    // Taylor's series to the twelfth power; |r| <= log(2) / 2 leaves 2e-17.
    Vec<double> p = broadcast(1.0 / 479001600);
    p = p * r + broadcast(1.0 / 39916800);
    p = p * r + broadcast(1.0 / 3628800);
    p = p * r + broadcast(1.0 / 362880);
    p = p * r + broadcast(1.0 / 40320);
    p = p * r + broadcast(1.0 / 5040);
    p = p * r + broadcast(1.0 / 720);
    p = p * r + broadcast(1.0 / 120);
    p = p * r + broadcast(1.0 / 24);
    p = p * r + broadcast(1.0 / 6);
    p = p * r + broadcast(0.5);
    p = p * r + broadcast(1.0);
    p = p * r + broadcast(1.0);
    // 2^n: n stands in the low bits of the shifted number; moved up, it adds to the exponent.
    IntVec<double> bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits <<= 52;
    IntVec<double> value;
    std::memcpy(&value, &p, sizeof value);
    value += bits;
    Vec<double> result;
    std::memcpy(&result, &value, sizeof result);
    return tiny ? Vec<double>{} : result;
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
