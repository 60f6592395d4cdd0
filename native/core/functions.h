// 2^t and what is made of it, in vectors. For level sources.
//
//     2^t = 2^n (1 + m),    n = round(t),    m = 2^r - 1 = r q(r),    r = t - n in [-1/2, 1/2]
//
// Adding 1.5 * 2^mantissa leaves n in the low bits of the sum, from where it is shifted into the exponent's place. q is
// the polynomial of least relative error (Remez): 1.1e-8 for float, 1.8e-17 for double. As m has a small *relative* error,
// so has 2^t - 1 near t = 0, and hence tanh.
#pragma once
#include "core/simd.h"

namespace LEVEL {

template <class T> struct Exp2;
template <> struct Exp2<float> {
  static constexpr int MANTISSA_BITS = 23, DEGREE = 5;
  static constexpr float ROUND = 12582912.0f;  // 1.5 * 2^23
  static constexpr float RANGE = 100.0f;       // 2^-100 is as good as zero, and sums of it are no slow subnormal numbers
  static constexpr float Q[DEGREE + 1] = {0.6931471879f, 0.2402264979f,  0.05550357434f,
                                          0.009618237494f, 0.001339073548f, 0.0001540351262f};
};
template <> struct Exp2<double> {
  static constexpr int MANTISSA_BITS = 52, DEGREE = 10;
  static constexpr double ROUND = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double RANGE = 1000.0;
  static constexpr double Q[DEGREE + 1] = {
      0.6931471805599453112,    0.2402265069591009789,   0.0555041086648212365,    0.0096181291076070653,
      0.001333355814653164471,  0.0001540353044148128375, 0.00001525273370120071307, 1.321544272387838816e-6,
      1.017812130580671801e-7,  7.072561768398301166e-9, 4.445536131848176023e-10};
};

// t, cut to the range where 2^t is a normal number; NaN stays NaN (see minimum in simd.h).
template <class T> INLINE Vec<T> cut_below(Vec<T> t) { return maximum(splat<T>(-Exp2<T>::RANGE), t); }
template <class T> INLINE Vec<T> cut_above(Vec<T> t, T limit) { return minimum(splat<T>(limit), t); }

// m and 2^n as above; the low bits of `shifted` are n.
template <class T> struct Exp2Parts {
  Vec<T> m;
  Ints<T> shifted;
};
template <class T> INLINE Exp2Parts<T> exp2_parts(Vec<T> t) {
  typedef Exp2<T> E;
  const Vec<T> shifted = t + E::ROUND, r = t - (shifted - E::ROUND);
  Vec<T> q = splat<T>(E::Q[E::DEGREE]);
  unrolled<E::DEGREE>([&](auto k) { q = q * r + splat<T>(E::Q[E::DEGREE - 1 - k]); });
  return {q * r, (Ints<T>)shifted};
}

// 2^t for |t| <= RANGE
template <class T> INLINE Vec<T> exp2_in_range(Vec<T> t) {
  const Exp2Parts<T> parts = exp2_parts<T>(t);
  return (Vec<T>)((Ints<T>)(parts.m + T(1)) + (parts.shifted << Exp2<T>::MANTISSA_BITS));
}

// 2^t - 1 for |t| <= RANGE
template <class T> INLINE Vec<T> exp2_minus_one(Vec<T> t) {
  const Exp2Parts<T> parts = exp2_parts<T>(t);
  const Vec<T> scale = (Vec<T>)((Ints<T>)splat<T>(T(1)) + (parts.shifted << Exp2<T>::MANTISSA_BITS));
  return scale * parts.m + (scale - T(1));
}

// tanh(x) = (e^2x - 1) / (e^2x + 1), given t = 2 log2(e) x
template <class T> INLINE Vec<T> tanh_of_exponent(Vec<T> t) {
  const Vec<T> e = exp2_minus_one<T>(cut_below<T>(cut_above<T>(t, Exp2<T>::RANGE)));
  return e / (e + T(2));
}

// x^degree for degree >= 1, by squaring
template <class T> INLINE Vec<T> integer_power(Vec<T> x, int degree) {
  Vec<T> power = splat<T>(T(1));
  for (;;) {
    if (degree & 1) power *= x;
    degree >>= 1;
    if (!degree) return power;
    x *= x;
  }
}

}  // namespace LEVEL
