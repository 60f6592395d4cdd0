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

// The best value of each lane, and its place, in two chains that do not wait for each other.
template <class T, bool SMALLEST> struct BestPlace {
  Vec<T> value[2];
  Ints<T> place[2], here;

  INLINE BestPlace(T worst, int64_t start) {
    Ints<T> count;
    for (int k = 0; k < LANES<T>; k++) count[k] = k;
    here = count + splat_integer<T>(start);
    unrolled<2>([&](auto chain) { value[chain] = splat<T>(worst), place[chain] = here; });
  }
  INLINE static Ints<T> better(Vec<T> x, Vec<T> y) {
    if constexpr (SMALLEST)
      return x < y;
    else
      return x > y;
  }
  // Values come in the order of their places, one vector after the other.
  INLINE void add(Vec<T> x, int chain) {
    const Ints<T> wins = better(x, value[chain]);
    value[chain] = wins ? x : value[chain];
    place[chain] = wins ? here : place[chain];
    here += splat_integer<T>(LANES<T>);
  }
  // The first place of the best value.
  INLINE int64_t first() const {
    const Vec<T> a = value[0], b = value[1];
    const Vec<T> best = splat<T>(SMALLEST ? minimum_of<T>(minimum(a, b)) : maximum_of<T>(maximum(a, b)));
    const Ints<T> none = splat_integer<T>(0x7fffffff);
    const Ints<T> in_a = a == best ? place[0] : none, in_b = b == best ? place[1] : none;
    return minimum_integer_of<T>(in_a < in_b ? in_a : in_b);
  }
};

template <class T>
INLINE int64_t move_pass(T* g, const T* K_i, const T* K_j, T d, const T* rise, int64_t start, int64_t stop) {
  BestPlace<T, true> lowest(T(3e38), start);
  const Vec<T> step = splat<T>(d);
  for (int64_t t = start; t < stop; t += 2 * LANES<T>)
    unrolled<2>([&](auto chain) {
      const int64_t at = t + chain * LANES<T>;
      const Vec<T> value = load(g + at) + step * (load(K_i + at) - load(K_j + at));
      store(g + at, value);
      lowest.add(value + load(rise + at), chain);
    });
  return lowest.first();
}

template <class T> struct Partner {
  int64_t place;
  T highest;  // g + fall
};

// Slots i must be compared with: g_i = low, K_ii = own.
template <class T>
INLINE Partner<T> partner_pass(const T* g, const T* fall, const T* K_i, const T* diagonal, T low, T own,
                               int64_t start, int64_t stop) {
  BestPlace<T, false> best(T(-1), start);
  Vec<T> highest[2] = {splat<T>(T(-3e38)), splat<T>(T(-3e38))};
  for (int64_t t = start; t < stop; t += 2 * LANES<T>)
    unrolled<2>([&](auto chain) {
      const int64_t at = t + chain * LANES<T>;
      const Vec<T> value = load(g + at) + load(fall + at);
      highest[chain] = maximum(value, highest[chain]);
      const Vec<T> above = maximum(value - low, Vec<T>{});
      const Vec<T> size = load(diagonal + at) + own;
      const Vec<T> rounding = absolute_lanes<T>(size) * CURVATURE_ROUNDING<T> + CURVATURE_MIN<T>;
      const Vec<T> curvature = maximum(size - T(2) * load(K_i + at), rounding);
      best.add(above * above / curvature, chain);
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
  T d = 0;
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
          partner_pass(x.g, x.fall, x.K + u * x.stride, x.diagonal, lowest, x.diagonal[u], start, stop);
      if (partner.highest - lowest > worst)
        best_i = u, best_j = partner.place, worst = partner.highest - lowest, low = lowest;
    }
    if (worst <= target || step >= max_steps) return step;
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
