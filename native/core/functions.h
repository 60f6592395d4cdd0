// 2^t and what is made of it, log2 and the arc cosine, in vectors. For level sources.
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

// log2(1 + q) for q >= 0, with a small relative error. With x = 1 + q = 2^e m, m in [sqrt(1/2), sqrt(2)), and
// s = (m - 1) / (m + 1), it is e + s p(s^2), p the near-minimax polynomial of 2 log2(e) atanh(s) / s (7e-10, 1.2e-18); what
// the sum 1 + q rounded off, q - (x - 1), adds its derivative 1 / x.
template <class T> struct Log2;
template <> struct Log2<float> {
  static constexpr int DEGREE = 3;
  static constexpr float LARGEST = 1e30f;
  static constexpr float P[DEGREE + 1] = {2.88539007980333633f, 0.9617988388021100037f, 0.5767151860190234273f,
                                          0.4317176974588738401f};
};
template <> struct Log2<double> {
  static constexpr int DEGREE = 7;
  static constexpr double LARGEST = 1e300;
  static constexpr double P[DEGREE + 1] = {2.885390081777926811,  0.9617966939259897288, 0.5770780163455202295,
                                           0.4121985858409005345, 0.320598534913959861,  0.262334352504183019,
                                           0.2209130842311767962, 0.2136589569431926943};
};
template <class T> INLINE Vec<T> log2_of_one_plus(Vec<T> q) {
  typedef Exp2<T> E;
  typedef Log2<T> L;
  constexpr T LOG2E = T(1.442695040888963407), SQRT_HALF = T(0.7071067811865475244);
  q = cut_above<T>(q, L::LARGEST);
  const Vec<T> x = q + T(1), lost = q - (x - T(1));
  const Ints<T> bits = (Ints<T>)x, e = (bits - (Ints<T>)splat<T>(SQRT_HALF)) >> E::MANTISSA_BITS;
  const Vec<T> m = (Vec<T>)(bits - (e << E::MANTISSA_BITS));
  const Vec<T> exponent = (Vec<T>)((Ints<T>)splat<T>(E::ROUND) + e) - E::ROUND;
  const Vec<T> s = (m - T(1)) / (m + T(1)), square = s * s;
  Vec<T> p = splat<T>(L::P[L::DEGREE]);
  unrolled<L::DEGREE>([&](auto k) { p = p * square + splat<T>(L::P[L::DEGREE - 1 - k]); });
  return exponent + (s * p + LOG2E * lost / x);
}

// acos(c) for |c| <= 1. With t = acos |c|, h = (1 - |c|) / 2 = sin^2(t/2) and y = h / (2 + 2 sqrt(1 - h)) = sin^2(t/4), it
// is t = 4 sqrt(y) p(y), p the near-minimax polynomial of asin(sqrt(y)) / sqrt(y) up to y = sin^2(pi/8) (4e-9, 6e-18); and
// pi - t where c < 0.
template <class T> struct Asin;
template <> struct Asin<float> {
  static constexpr int DEGREE = 4;
  static constexpr float P[DEGREE + 1] = {1.000000003969875748f, 0.1666653143803012371f, 0.07507298136377126703f,
                                          0.04328442168484191182f, 0.0403655699486701776f};
};
template <> struct Asin<double> {
  static constexpr int DEGREE = 10;
  static constexpr double P[DEGREE + 1] = {
      1.000000000000000005,   0.1666666666666585612,  0.07500000000220788789, 0.04464285690885929625,
      0.03038195712645194653, 0.022371759605907795,   0.01736056899789620045, 0.01386768943977395524,
      0.01231843568986807611, 0.006102583241066709692, 0.01762140671981956812};
};
template <class T> INLINE Vec<T> arc_cosine(Vec<T> c) {
  typedef Asin<T> A;
  constexpr T PI = T(3.141592653589793238);
  const Vec<T> h = T(0.5) - T(0.5) * absolute_lanes<T>(c);
  const Vec<T> y = h / (T(2) + T(2) * square_root_lanes<T>(T(1) - h));
  Vec<T> p = splat<T>(A::P[A::DEGREE]);
  unrolled<A::DEGREE>([&](auto k) { p = p * y + splat<T>(A::P[A::DEGREE - 1 - k]); });
  const Vec<T> t = T(4) * square_root_lanes<T>(y) * p;
  return c < T(0) ? PI - t : t;
}

}  // namespace LEVEL
