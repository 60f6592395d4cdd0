// Pair steps on a matrix. For level sources; see pair_steps.h.
#pragma once
#include "pair_steps/passes.h"

namespace LEVEL {

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
      SmallestPlace<T> lowest_place;
      move_pass<T, true>(x.g, x.K + i * x.stride, x.K + j * x.stride, d, x.rise, start, stop, lowest_place);
      const int64_t u = lowest_place.first();
      if (!(x.a[u] < x.upper[u])) continue;  // none may rise; and u is no padding, whose row K need not have
      const T lowest = x.g[u] + x.rise[u];
      Partner<T> partner(lowest, x.diagonal[u], scale);
      partner_pass<T, false>(x.g, x.fall, x.K + u * x.stride, x.diagonal, start, stop, partner);
      const T violation = partner.largest() - lowest;
      if (violation > worst) best_i = u, best_j = partner.place(), worst = violation, low = lowest;
    }
    if (worst <= target || step >= max_steps) return step;
    scale = 1 / worst;
    i = best_i, j = best_j;
    const double gain = double(x.g[j]) + double(x.fall[j]) - double(low);
    if (!(gain > 0)) return step;
    const double size = double(x.diagonal[i]) + double(x.diagonal[j]);
    const double move =
        step_length<T>(gain, size, double(x.K[i * x.stride + j]), x.upper[i] - x.a[i], x.a[j] - x.lower[j]);
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
