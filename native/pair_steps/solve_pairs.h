// The two passes of a pair step, and the steps. For level sources; see pair_steps.h.
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
  Ints<T> place[2];

  INLINE SmallestPlace(Ints<T> start) {
    unrolled<2>([&](auto chain) { value[chain] = splat<T>(T(3e38)), place[chain] = start; });
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
  Ints<T> place[2];

  INLINE LargestQuotient(Ints<T> start) {
    unrolled<2>([&](auto chain) { top[chain] = splat<T>(T(-1)), bottom[chain] = splat<T>(T(1)), place[chain] = start; });
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

template <class T>
INLINE int64_t move_pass(T* g, const T* K_i, const T* K_j, T d, const T* rise, int64_t start, int64_t stop) {
  Ints<T> here = places_from<T>(start);
  SmallestPlace<T> lowest(here);
  const Vec<T> step = splat<T>(d);
  for (int64_t t = start; t < stop; t += 2 * LANES<T>, here += splat_integer<T>(2 * LANES<T>))
    unrolled<2>([&](auto chain) {
      const int64_t at = t + chain * LANES<T>;
      const Vec<T> value = load(g + at) + step * (load(K_i + at) - load(K_j + at));
      store(g + at, value);
      lowest.add(value + load(rise + at), here, chain);
    });
  return lowest.first();
}

template <class T> struct Partner {
  int64_t place;
  T highest;  // g + fall
};

// The partner of a variable with gradient `low` and diagonal entry `own`. Differences are multiplied by `scale`, which
// does not change the choice but keeps their squares and products in the range of T.
template <class T>
INLINE Partner<T> partner_pass(const T* g, const T* fall, const T* K_i, const T* diagonal, T low, T own, T scale,
                               int64_t start, int64_t stop) {
  Ints<T> here = places_from<T>(start);
  LargestQuotient<T> best(here);
  Vec<T> highest[2] = {splat<T>(T(-3e38)), splat<T>(T(-3e38))};
  for (int64_t t = start; t < stop; t += 2 * LANES<T>, here += splat_integer<T>(2 * LANES<T>))
    unrolled<2>([&](auto chain) {
      const int64_t at = t + chain * LANES<T>;
      const Vec<T> value = load(g + at) + load(fall + at);
      highest[chain] = maximum(value, highest[chain]);
      const Vec<T> above = maximum((value - low) * scale, Vec<T>{});
      const Vec<T> size = load(diagonal + at) + own;
      const Vec<T> rounding = absolute_lanes<T>(size) * CURVATURE_ROUNDING<T> + CURVATURE_MIN<T>;
      const Vec<T> curvature = maximum(size - T(2) * load(K_i + at), rounding);
      best.add(above * above, curvature, here, chain);
    });
  return {best.first(), maximum_of<T>(maximum(highest[0], highest[1]))};
}

// The value after a move towards a bound: within rounding of it means at it, for a variable that only seems free would
// decide the intercept.
INLINE double moved(double a, double change, double bound) {
  const double step = absolute(change), slack = absolute(bound - a);
  return slack - step <= 1e-14 * (absolute(a) + step) ? bound : a + change;
}

template <class T> NOINLINE int64_t solve_pairs(const PairProblem<T>& x, double goal, int64_t max_steps) {
  const T barrier = T(PAIR_BARRIER), target = T(goal);
  int64_t i = 0, j = 0;
  T d = 0, scale = 1;
  for (int64_t step = 0;; step++) {
    int64_t best_i = 0, best_j = 0;
    T worst = -1, low = 0;
    for (int64_t k = 0; k < x.groups; k++) {
      const int64_t start = x.starts[k], stop = x.stops[k];
      if (start >= stop) continue;
      const int64_t u = move_pass(x.g, x.K + i * x.stride, x.K + j * x.stride, d, x.rise, start, stop);
      if (!(x.a[u] < x.upper[u])) continue;  // none may rise; and u is no padding, whose row K need not have
      const T lowest = x.g[u] + x.rise[u];
      const Partner<T> partner =
          partner_pass(x.g, x.fall, x.K + u * x.stride, x.diagonal, lowest, x.diagonal[u], scale, start, stop);
      if (partner.highest - lowest > worst)
        best_i = u, best_j = partner.place, worst = partner.highest - lowest, low = lowest;
    }
    if (worst <= target || step >= max_steps) return step;
    scale = 1 / worst;
    i = best_i, j = best_j;
    const double gain = double(x.g[j]) + double(x.fall[j]) - double(low);
    if (!(gain > 0)) return step;
    const double size = double(x.diagonal[i]) + double(x.diagonal[j]);
    const double rounding = double(CURVATURE_ROUNDING<T>) * absolute(size) + double(CURVATURE_MIN<T>);
    const double curvature = maximum(size - 2.0 * double(x.K[i * x.stride + j]), rounding);
    const double move = minimum(minimum(x.upper[i] - x.a[i], x.a[j] - x.lower[j]), gain / curvature);
    if (!(move > 0)) return step;
    x.a[i] = moved(x.a[i], move, x.upper[i]);
    x.a[j] = moved(x.a[j], -move, x.lower[j]);
    x.rise[i] = x.a[i] >= x.upper[i] ? barrier : T(0);
    x.fall[i] = 0;
    x.fall[j] = x.a[j] <= x.lower[j] ? -barrier : T(0);
    x.rise[j] = 0;
    d = T(move);
  }
}

}  // namespace LEVEL
