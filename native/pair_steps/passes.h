// The two passes of a pair step over a range of slots; several ranges share the registers in which they look for a place.
// For level sources; see pair_steps.h.
//
//     move      g += d (K_i - K_j), and the place of the smallest g + rise
//     partner   the place of the largest gain, and the largest g + fall
#pragma once
#include "core/simd.h"
#include "pair_steps/pair_steps.h"

namespace LEVEL {

// Relative size of what rounding may leave of a difference.
template <class T> constexpr T CURVATURE_ROUNDING = T(sizeof(T) == 4 ? 1e-6 : 1e-15);
template <class T> constexpr T CURVATURE_MIN = T(1e-30);

// The first place of the best value of two chains of lanes. Values came in pairs of vectors: `place` counts from the first
// of a pair, and chain 1 stands LANES further.
template <class T, bool SMALLEST>
INLINE int64_t first_place(const Vec<T> (&value)[2], const Ints<T> (&place)[2]) {
  const Vec<T> best = splat<T>(SMALLEST ? minimum_of<T>(minimum(value[0], value[1]))
                                        : maximum_of<T>(maximum(value[0], value[1])));
  const Ints<T> none = splat_integer<T>(0x7fffffff);
  const Ints<T> in_0 = value[0] == best ? place[0] : none;
  const Ints<T> in_1 = value[1] == best ? place[1] + splat_integer<T>(LANES<T>) : none;
  return minimum_integer_of<T>(in_0 < in_1 ? in_0 : in_1);
}
template <class T> INLINE Ints<T> places_from(int64_t start) {
  Ints<T> places;
  for (int k = 0; k < LANES<T>; k++) places[k] = decltype(places[0] + 0)(start + k);
  return places;
}

// The smallest value of each lane and its place, in two chains that do not wait for each other.
template <class T> struct SmallestPlace {
  Vec<T> value[2];
  Ints<T> place[2] = {};

  INLINE SmallestPlace() {
    unrolled<2>([&](auto chain) { value[chain] = splat<T>(T(3e38)); });
  }
  INLINE void add(Vec<T> x, Ints<T> here, int chain) {
    const Ints<T> wins = x < value[chain];
    value[chain] = wins ? x : value[chain];
    place[chain] = wins ? here : place[chain];
  }
  INLINE int64_t first() const { return first_place<T, true>(value, place); }
};

// The same for the largest quotient of two numbers >= 0 and > 0. A division of the widest registers takes as long as all
// else together; there quotients are compared by products, x / y > p / q where x q > p y.
template <class T> struct LargestQuotient {
  static constexpr bool BY_PRODUCTS = REGISTER_BYTES == 64;
  Vec<T> top[2], bottom[2];  // without products the quotient is in top
  Ints<T> place[2] = {};

  INLINE LargestQuotient() {
    unrolled<2>([&](auto chain) { top[chain] = splat<T>(T(-1)), bottom[chain] = splat<T>(T(1)); });
  }
  INLINE void add(Vec<T> x, Vec<T> y, Ints<T> here, int chain) {
    if constexpr (BY_PRODUCTS) {
      const Ints<T> wins = x * bottom[chain] > top[chain] * y;
      top[chain] = wins ? x : top[chain];
      bottom[chain] = wins ? y : bottom[chain];
      place[chain] = wins ? here : place[chain];
    } else {
      const Vec<T> quotient = x / y;
      const Ints<T> wins = quotient > top[chain];
      top[chain] = wins ? quotient : top[chain];
      place[chain] = wins ? here : place[chain];
    }
  }
  INLINE int64_t first() const {
    const Vec<T> quotients[2] = {top[0] / bottom[0], top[1] / bottom[1]};
    return first_place<T, false>(quotients, place);
  }
};

// MOVES: otherwise g stays as it is.
template <class T, bool MOVES>
INLINE void move_pass(T* g, const T* K_i, const T* K_j, T d, const T* rise, int64_t start, int64_t stop,
                      SmallestPlace<T>& lowest) {
  Ints<T> here = places_from<T>(start);
  const Vec<T> step = splat<T>(d);
  for (int64_t t = start; t < stop; t += 2 * LANES<T>, here += splat_integer<T>(2 * LANES<T>))
    unrolled<2>([&](auto chain) {
      const int64_t at = t + chain * LANES<T>;
      Vec<T> value = load(g + at);
      if constexpr (MOVES) {
        value += step * (load(K_i + at) - load(K_j + at));
        store(g + at, value);
      }
      lowest.add(value + load(rise + at), here, chain);
    });
}

// What is known of the partner of a variable with gradient `low` and diagonal entry `own`. Differences are multiplied by
// `scale`, which does not change the choice but keeps their squares and products in the range of T.
template <class T> struct Partner {
  const T low, own, scale;
  LargestQuotient<T> best{};
  Vec<T> highest[2] = {splat<T>(T(-3e38)), splat<T>(T(-3e38))};  // g + fall

  INLINE Partner(T low_, T own_, T scale_) : low(low_), own(own_), scale(scale_) {}
  INLINE int64_t place() const { return best.first(); }
  INLINE T largest() const { return maximum_of<T>(maximum(highest[0], highest[1])); }
};

// ONES: the diagonal of K is one.
template <class T, bool ONES>
INLINE void partner_pass(const T* g, const T* fall, const T* K_i, const T* diagonal, int64_t start, int64_t stop,
                         Partner<T>& partner) {
  Ints<T> here = places_from<T>(start);
  for (int64_t t = start; t < stop; t += 2 * LANES<T>, here += splat_integer<T>(2 * LANES<T>))
    unrolled<2>([&](auto chain) {
      const int64_t at = t + chain * LANES<T>;
      const Vec<T> value = load(g + at) + load(fall + at);
      partner.highest[chain] = maximum(value, partner.highest[chain]);
      const Vec<T> above = maximum((value - partner.low) * partner.scale, Vec<T>{});
      Vec<T> size = splat<T>(T(2)), rounding = splat<T>(T(2) * CURVATURE_ROUNDING<T>);
      if constexpr (!ONES) {
        size = load(diagonal + at) + partner.own;
        rounding = absolute_lanes<T>(size) * CURVATURE_ROUNDING<T> + CURVATURE_MIN<T>;
      }
      const Vec<T> curvature = maximum(size - T(2) * load(K_i + at), rounding);
      partner.best.add(above * above, curvature, here, chain);
    });
}

// The length of a step with this gain, for two diagonal entries of this sum: to the optimum, or to the nearer bound.
template <class T> INLINE double step_length(double gain, double size, double K_ij, double to_upper, double to_lower) {
  const double rounding = double(CURVATURE_ROUNDING<T>) * absolute(size) + double(CURVATURE_MIN<T>);
  return minimum(minimum(to_upper, to_lower), gain / maximum(size - 2.0 * K_ij, rounding));
}

// The value after a move towards a bound: within rounding of it means at it, for a variable that only seems free would
// decide the intercept.
INLINE double moved(double a, double change, double bound) {
  const double step = absolute(change), slack = absolute(bound - a);
  return slack - step <= 1e-14 * (absolute(a) + step) ? bound : a + change;
}

}  // namespace LEVEL
