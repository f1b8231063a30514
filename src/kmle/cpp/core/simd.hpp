// Vectors of the width this file is compiled for, by the vector extensions of GCC and Clang, an exponential and a
// logarithm.

#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
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
    return static_cast<unsigned>(sizeof(T) == 4 ? _mm256_movemask_ps((__m256)holds)
                                                : _mm256_movemask_pd((__m256d)holds));
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

// Values of a table, which need not be aligned, in double precision.
inline Vec<double> in_double(const double* from) {
    Vec<double> value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline Vec<double> in_double(const float* from) {
    typedef float Narrow __attribute__((vector_size(4 * lanes<double>)));
    Narrow narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    return __builtin_convertvector(narrow, Vec<double>);
}

// Stores in the precision of a table; floats need not be aligned.
inline void put(double* to, Vec<double> value) { store(to, value); }

inline void put(float* to, Vec<double> value) {
    typedef float Narrow __attribute__((vector_size(4 * lanes<double>)));
    const Narrow narrow = __builtin_convertvector(value, Narrow);
    std::memcpy(to, &narrow, sizeof narrow);
}

// The second one where the first is NaN.
inline Vec<double> lower_of(Vec<double> a, Vec<double> b) {
#if KMLE_VECTOR_BYTES == 64
    return (Vec<double>)_mm512_min_pd((__m512d)a, (__m512d)b);
#else
    return a < b ? a : b;
#endif
}

inline Vec<double> higher_of(Vec<double> a, Vec<double> b) {
#if KMLE_VECTOR_BYTES == 64
    return (Vec<double>)_mm512_max_pd((__m512d)a, (__m512d)b);
#else
    return a > b ? a : b;
#endif
}

// Has bits where a value below 2^51 is not whole.
inline IntVec<double> fraction_bits(Vec<double> x) {
#if KMLE_VECTOR_BYTES == 64
    return (IntVec<double>)_mm512_roundscale_pd((__m512d)x, 0) ^ (IntVec<double>)x;
#else
    const Vec<double> shifter = broadcast(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to a whole number
    return (IntVec<double>)(((x + shifter) - shifter) - x);
#endif
}

// How e^x is taken apart: x is a whole number of `parts`-ths of log(2), and a small rest r with e^r = 1 + r P(r). Then
// e^x = 2^(whole / parts) e^r, and powers of two of fractions stand in a table where registers can hold it.
#if KMLE_VECTOR_BYTES == 64
struct Exponential {
    static constexpr double parts_a_unit = 23.083120654223414;  // 16 / log(2)
    static constexpr double unit = 4.33216987803461961e-02, unit_rest = 4.65038569375774803e-12;
    static constexpr std::size_t exponent_at = 48;  // sixteenths stand four bits below the exponent
    // |r| <= log(2) / 32: interpolated at Chebyshev's nodes, which leaves 2e-17.
    static constexpr double coefficients[] = {0x1.6c17ed4cc4834p-10, 0x1.11123cf1dba3ap-7, 0x1.55555554e9468p-5,
                                              0x1.555555547d378p-3,  0x1.0000000000001p-1, 0x1.0000000000003p+0};

    // 2^(i / 16) for the i in the lowest four bits, less what those bits will add above `exponent_at`.
    static IntVec<double> power(IntVec<double> whole) {
        const __m512i low =
            _mm512_set_epi64(0x3feeab07dd485429, 0x3feebfdad5362a27, 0x3feedea64c123422, 0x3fef06fe0a31b715,
                             0x3fef387a6e756238, 0x3fef72b83c7d517b, 0x3fefb5586cf9890f, 0x3ff0000000000000);
        const __m512i high =
            _mm512_set_epi64(0x3fefa4afa2a490da, 0x3fef5818dcfba487, 0x3fef199bdd85529c, 0x3feee89f995ad3ad,
                             0x3feec49182a3f090, 0x3feeace5422aa0db, 0x3feea11473eb0187, 0x3feea09e667f3bcd);
        return (IntVec<double>)_mm512_permutex2var_epi64(low, (__m512i)whole, high);
    }
};
#else
struct Exponential {
    static constexpr double parts_a_unit = 1.4426950408889634;
    static constexpr double unit = 6.93147180369123816e-01, unit_rest = 1.90821492927058770e-10;
    static constexpr std::size_t exponent_at = 52;
    // |r| <= log(2) / 2: Taylor's series, which leaves 2e-17.
    static constexpr double coefficients[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                              1.0 / 40320,     1.0 / 5040,     1.0 / 720,     1.0 / 120,
                                              1.0 / 24,        1.0 / 6,        0.5,           1.0};

    static IntVec<double> power(IntVec<double>) { return (IntVec<double>)broadcast(1.0); }
};
#endif

// e^x for numbers x <= 0, zero below -708; within two units in the last place. Several vectors take each step together:
// a single one would spend its time waiting for the step before.
template <std::size_t count>
inline void exp_negative(Vec<double> (&x)[count]) {
    const Vec<double> shifter = broadcast(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to a whole number
    const Vec<double> lowest = broadcast(-708.0);
    Vec<double> r[count], p[count];
    IntVec<double> tiny[count], whole[count];
    for (std::size_t v = 0; v < count; ++v) {
        tiny[v] = x[v] < lowest;
        x[v] = tiny[v] ? lowest : x[v];
        const Vec<double> shifted = x[v] * broadcast(Exponential::parts_a_unit) + shifter;
        whole[v] = (IntVec<double>)shifted;  // its lowest bits are the whole number
        r[v] = x[v] - (shifted - shifter) * broadcast(Exponential::unit);
        r[v] -= (shifted - shifter) * broadcast(Exponential::unit_rest);
        p[v] = broadcast(Exponential::coefficients[0]);
    }
    for (std::size_t c = 1; c < std::size(Exponential::coefficients); ++c)
        for (std::size_t v = 0; v < count; ++v) p[v] = p[v] * r[v] + broadcast(Exponential::coefficients[c]);
    for (std::size_t v = 0; v < count; ++v) {
        const Vec<double> power = (Vec<double>)(Exponential::power(whole[v]) + (whole[v] << Exponential::exponent_at));
        const Vec<double> value = power * (r[v] * p[v]) + power;
        x[v] = tiny[v] ? Vec<double>{} : value;
    }
}

// log(x) for numbers x >= 1, within a unit in the last place (Sun's fdlibm, e_log.c): x = 2^e m with m between
// sqrt(1/2) and sqrt(2), and log(m) by a polynomial in ((m - 1) / (m + 1))^2. Several vectors take each step together.
template <std::size_t count>
inline void log_above_one(Vec<double> (&x)[count]) {
    typedef std::uint64_t Unsigned __attribute__((vector_size(KMLE_VECTOR_BYTES)));
    constexpr std::uint64_t one = 0x3ff0000000000000, root_of_half = 0x3fe6a09e667f3bcd, fraction = 0x000fffffffffffff;
    constexpr double unit = 6.93147180369123816e-01, unit_rest = 1.90821492927058770e-10;
    constexpr double even[] = {1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01,
                               6.666666666666735130e-01};
    constexpr double odd[] = {1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01};
    const Vec<double> shifter = broadcast(6755399441055744.0);  // 1.5 * 2^52, with room for whole numbers below
    Vec<double> exponent[count], f[count], s[count], z[count], w[count], p[count], q[count];
    for (std::size_t v = 0; v < count; ++v) {
        const Unsigned bits = (Unsigned)x[v] + (one - root_of_half);
        exponent[v] = (Vec<double>)((bits >> 52) - 1023 + (Unsigned)shifter) - shifter;
        f[v] = (Vec<double>)((bits & fraction) + root_of_half) - broadcast(1.0);
        s[v] = f[v] / (f[v] + broadcast(2.0));
        z[v] = s[v] * s[v];
        w[v] = z[v] * z[v];
        p[v] = broadcast(even[0]);
        q[v] = broadcast(odd[0]);
    }
    for (std::size_t c = 1; c < std::size(even); ++c)
        for (std::size_t v = 0; v < count; ++v) p[v] = p[v] * w[v] + broadcast(even[c]);
    for (std::size_t c = 1; c < std::size(odd); ++c)
        for (std::size_t v = 0; v < count; ++v) q[v] = q[v] * w[v] + broadcast(odd[c]);
    for (std::size_t v = 0; v < count; ++v) {
        const Vec<double> half = broadcast(0.5) * f[v] * f[v];
        const Vec<double> rest = s[v] * (half + z[v] * p[v] + w[v] * q[v]) + exponent[v] * broadcast(unit_rest);
        x[v] = exponent[v] * broadcast(unit) - ((half - rest) - f[v]);
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
