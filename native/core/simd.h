// Vectors of one register, for any instruction level, by GCC's and Clang's vector extensions.
//
// Only level sources include this file. LEVEL (set by CMake) names the namespace, -march decides the width:
//
//     Vec<T>      as many T (float or double) as a register holds: LANES<T>; + - * / < > work lane by lane
//     Ints<T>     signed integers of T's size, as many; comparisons of Vec<T> give 0 or -1 in such a vector
//     a < b ? a : b      chooses lane by lane
//
// A scalar operand is spread to all lanes: T(2) * x. Products fuse with sums where the level has FMA (-ffp-contract=fast).
//
// No C++ library header may be included here or in any level source: the linker could merge an inline function compiled
// for AVX-512 with the baseline's. The build checks this (check_symbols.cmake).
#pragma once
#include <stddef.h>
#include <stdint.h>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

namespace LEVEL {

#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64, REGISTERS = 32;
#elif defined(__AVX__)
constexpr int REGISTER_BYTES = 32, REGISTERS = 16;
#elif defined(__aarch64__)
constexpr int REGISTER_BYTES = 16, REGISTERS = 32;
#else
constexpr int REGISTER_BYTES = 16, REGISTERS = 16;
#endif

template <class T> struct VectorTypes;
template <> struct VectorTypes<float> {
  typedef float Vector __attribute__((vector_size(REGISTER_BYTES)));
  typedef int32_t Integers __attribute__((vector_size(REGISTER_BYTES)));
};
template <> struct VectorTypes<double> {
  typedef double Vector __attribute__((vector_size(REGISTER_BYTES)));
  typedef int64_t Integers __attribute__((vector_size(REGISTER_BYTES)));
};
template <class T> using Vec = typename VectorTypes<T>::Vector;
template <class T> using Ints = typename VectorTypes<T>::Integers;
template <class T> constexpr int LANES = REGISTER_BYTES / int(sizeof(T));

// ---- memory; p needs the alignment of T only
template <class T> INLINE Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T> INLINE void store(T* p, Vec<T> v) { __builtin_memcpy(p, &v, sizeof v); }
// The first `count` < LANES lanes; the rest is zero, and its memory is not read.
template <class T> INLINE Vec<T> load_first(const T* p, int64_t count) {
  Vec<T> v{};
  for (int64_t k = 0; k < count; k++) v[k] = p[k];
  return v;
}
template <class T> INLINE void store_first(T* p, Vec<T> v, int64_t count) {
  for (int64_t k = 0; k < count; k++) p[k] = v[k];
}

// ---- the same scalar in every lane
template <class T> INLINE Vec<T> splat(T x) { return x - Vec<T>{}; }
template <class T> INLINE Ints<T> splat_integer(int64_t x) {
  return static_cast<decltype(Ints<T>{}[0] + 0)>(x) - Ints<T>{};
}

// ---- minimum, maximum (the second operand where one is NaN, as x86 does), absolute value; vectors and scalars
template <class V> INLINE V minimum(V a, V b) { return a < b ? a : b; }
template <class V> INLINE V maximum(V a, V b) { return a > b ? a : b; }
// GCC would need -ffinite-math-only to see one instruction in a < b ? a : b. Its builtins, not <immintrin.h>: that header
// takes most of the time that a small source takes to compile.
#if defined(__x86_64__) && !defined(__clang__)
#define MINIMUM_AND_MAXIMUM(Scalar, bytes, name, ...)                                                     \
  typedef Scalar Scalar##bytes __attribute__((vector_size(bytes)));                                        \
  template <> INLINE Scalar##bytes minimum(Scalar##bytes a, Scalar##bytes b) {                             \
    return __builtin_ia32_min##name(a, b __VA_OPT__(, ) __VA_ARGS__);                                      \
  }                                                                                                        \
  template <> INLINE Scalar##bytes maximum(Scalar##bytes a, Scalar##bytes b) {                             \
    return __builtin_ia32_max##name(a, b __VA_OPT__(, ) __VA_ARGS__);                                      \
  }
MINIMUM_AND_MAXIMUM(float, 16, ps)
MINIMUM_AND_MAXIMUM(double, 16, pd)
#if defined(__AVX__)
MINIMUM_AND_MAXIMUM(float, 32, ps256)
MINIMUM_AND_MAXIMUM(double, 32, pd256)
#endif
#if defined(__AVX512F__)  // lanes that the mask leaves out are a's: none; 4 is the rounding in force
MINIMUM_AND_MAXIMUM(float, 64, ps512_mask, a, uint16_t(-1), 4)
MINIMUM_AND_MAXIMUM(double, 64, pd512_mask, a, uint8_t(-1), 4)
#endif
#undef MINIMUM_AND_MAXIMUM
#endif
template <class T> INLINE Vec<T> absolute_lanes(Vec<T> v) {
  return (Vec<T>)((Ints<T>)v & ~(Ints<T>)splat<T>(T(-0.0)));
}
template <class T> INLINE T absolute(T x) { return x < 0 ? -x : x; }
INLINE float square_root(float x) { return __builtin_sqrtf(x); }
INLINE double square_root(double x) { return __builtin_sqrt(x); }

// The square root of each lane: a loop over lanes is not always turned into one instruction.
template <class T> INLINE Vec<T> square_root_lanes(Vec<T> v) {
  for (int k = 0; k < LANES<T>; k++) v[k] = square_root(v[k]);
  return v;
}
#if defined(__x86_64__) && !defined(__clang__)
#if defined(__AVX512F__)
template <> INLINE Vec<float> square_root_lanes<float>(Vec<float> v) {
  return __builtin_ia32_sqrtps512_mask(v, v, uint16_t(-1), 4);
}
template <> INLINE Vec<double> square_root_lanes<double>(Vec<double> v) {
  return __builtin_ia32_sqrtpd512_mask(v, v, uint8_t(-1), 4);
}
#elif defined(__AVX__)
template <> INLINE Vec<float> square_root_lanes<float>(Vec<float> v) { return __builtin_ia32_sqrtps256(v); }
template <> INLINE Vec<double> square_root_lanes<double>(Vec<double> v) { return __builtin_ia32_sqrtpd256(v); }
#else
template <> INLINE Vec<float> square_root_lanes<float>(Vec<float> v) { return __builtin_ia32_sqrtps(v); }
template <> INLINE Vec<double> square_root_lanes<double>(Vec<double> v) { return __builtin_ia32_sqrtpd(v); }
#endif
#endif

// ---- loops unrolled before registers are assigned: unrolled<3>(f) is f(Int<0>{}), f(Int<1>{}), f(Int<2>{})
template <int I> struct Int {
  constexpr operator int() const { return I; }
};
template <int N, int I = 0, class F> INLINE void unrolled(F&& f) {
  if constexpr (I < N) {
    f(Int<I>{});
    unrolled<N, I + 1>(static_cast<F&&>(f));
  }
}

// ---- reductions of the lanes: the upper half is combined with the lower one until two lanes are left
template <int... K> struct Places {};
template <int N, int... K> struct CountUp : CountUp<N - 1, N - 1, K...> {};
template <int... K> struct CountUp<0, K...> {
  typedef Places<K...> type;
};
template <class V, int... K> INLINE auto lower_half(V v, Places<K...>) { return __builtin_shufflevector(v, v, K...); }
template <class V, int... K> INLINE auto upper_half(V v, Places<K...>) {
  return __builtin_shufflevector(v, v, (K + int(sizeof...(K)))...);
}
template <class V, class F> INLINE auto reduced(V v, F combine) {
  constexpr int lanes = sizeof(V) / sizeof(v[0]);
  if constexpr (lanes == 2) {
    const auto a = v[0], b = v[1];
    return combine(a, b);
  } else {
    typedef typename CountUp<lanes / 2>::type Half;
    return reduced(combine(lower_half(v, Half{}), upper_half(v, Half{})), combine);
  }
}
template <class T> INLINE T sum_of(Vec<T> v) {
  return reduced(v, [](auto a, auto b) { return a + b; });
}
template <class T> INLINE T minimum_of(Vec<T> v) {
  return reduced(v, [](auto a, auto b) { return minimum(a, b); });
}
template <class T> INLINE T maximum_of(Vec<T> v) {
  return reduced(v, [](auto a, auto b) { return maximum(a, b); });
}
template <class T> INLINE int64_t minimum_integer_of(Ints<T> v) {
  return reduced(v, [](auto a, auto b) { return a < b ? a : b; });
}

}  // namespace LEVEL
