// Second-order pair steps (Fan, Chen and Lin 2005) in vector code. A step is two passes over the variables:
//
//     descend   g += t (K_i - K_j), and the first place of the smallest g + rise
//     partner   the place of the largest (g + fall - g_i)^2 / (K_ii + K_jj - 2 K_ij) above g_i; and the largest g + fall
//
// rise is 0 where a variable may rise and BARRED where not, fall is 0 where it may fall and -BARRED where not: masks that
// cost one addition. Runs are whole pairs of vectors; padding is barred from both.
#pragma once
#include "batch/points.h"

namespace LEVEL::batch_code {

constexpr double BARRED = 1e30;
template <class T> constexpr T HUGE_GRADIENT = T(3e38);
template <class T> constexpr T LEAST_CURVATURE = sizeof(T) == 4 ? T(1e-6) : T(1e-15);  // relative: what rounding leaves
template <class T> constexpr int STEP_UNIT = 2 * LANES<T>;
constexpr double BOUND_ROUNDING = 1e-14;  // relative distance to a bound that counts as being there
constexpr int64_t TRIAL_WINDOW_STEPS = 32;  // see Problems
constexpr double CHECK_WORK = 2e6;        // values touched between two checks of the stop flag: about a millisecond

enum Ended { REACHED, LIMIT, NO_STEP, ASKED, TRIED };  // why pair steps ended; TRIED: the trial is given up

template <class T> struct Variables {
  T *g, *rise, *fall, *diagonal;
  double *a, *lower, *upper;
  int64_t begin[2], end[2];
  int runs;
  bool joined;
  int64_t check_step, most_entering;  // of a trial, see Problems; otherwise 0
  Ended limited;                      // why steps end at the limit

  void mark(int64_t v) {
    rise[v] = a[v] >= upper[v] ? T(BARRED) : T(0);
    fall[v] = a[v] <= lower[v] ? T(-BARRED) : T(0);
  }
};

template <class T> INLINE Ints<T> places_from(int64_t start) {
  Ints<T> place;
  unrolled<LANES<T>>([&](auto l) { place[int(l)] = l; });
  return place + splat_integer<T>(start);
}

// The first place of the best lane of two chains, whose places are those of the unit's first vector.
template <class T, bool SMALLEST>
INLINE int64_t best_place(Vec<T> value0, Vec<T> value1, Ints<T> place0, Ints<T> place1, T& best) {
  place1 += splat_integer<T>(LANES<T>);
  const auto second = SMALLEST ? value1 < value0 : value1 > value0;
  const Vec<T> value = second ? value1 : value0;
  const Ints<T> place = second ? place1 : place0;
  best = SMALLEST ? minimum_of<T>(value) : maximum_of<T>(value);
  return minimum_integer_of<T>(value == splat<T>(best) ? place : splat_integer<T>(INT32_MAX));
}

// Both passes run over runs first..last, whose reductions they share; Ki and Kj are rows of K as each run sees them.
template <class T, bool MOVES>
INLINE int64_t descend(const Variables<T>& x, const T* const* Ki, const T* const* Kj, T step, int first, int last, T& smallest) {
  Ints<T> place[2] = {};
  Vec<T> best[2] = {splat<T>(HUGE_GRADIENT<T>), splat<T>(HUGE_GRADIENT<T>)};
  for (int k = first; k < last; k++) {
    Ints<T> here = places_from<T>(x.begin[k]);
    const T *row_i = Ki[k], *row_j = Kj[k], *rise = x.rise;
    T* g = x.g;
    for (int64_t t = x.begin[k], end = x.end[k]; t < end; t += STEP_UNIT<T>) {
      unrolled<2>([&](auto chain) {
        const int64_t at = t + chain * LANES<T>;
        Vec<T> value = load(g + at);
        if constexpr (MOVES) {
          value += splat<T>(step) * (load(row_i + at) - load(row_j + at));
          store(g + at, value);
        }
        value += load(rise + at);
        place[chain] = value < best[chain] ? here : place[chain];
        best[chain] = minimum(value, best[chain]);
      });
      here += splat_integer<T>(STEP_UNIT<T>);
    }
  }
  return best_place<T, true>(best[0], best[1], place[0], place[1], smallest);
}

// Gains are fractions compared by multiplying across: a division per vector would cost more than the rest of the pass.
// ONES: the diagonal of K is one.
template <class T, bool ONES>
INLINE int64_t partner(const Variables<T>& x, const T* const* Ki, T g_i, T K_ii, int first, int last, T& largest) {
  Ints<T> place[2] = {};
  Vec<T> high[2] = {splat<T>(-HUGE_GRADIENT<T>), splat<T>(-HUGE_GRADIENT<T>)};
  Vec<T> squares[2] = {splat<T>(T(-1)), splat<T>(T(-1))}, curvatures[2] = {splat<T>(T(1)), splat<T>(T(1))};
  for (int k = first; k < last; k++) {
    Ints<T> here = places_from<T>(x.begin[k]);
    const T* row = Ki[k];
    for (int64_t t = x.begin[k]; t < x.end[k]; t += STEP_UNIT<T>) {
      unrolled<2>([&](auto chain) {
        const int64_t at = t + chain * LANES<T>;
        const Vec<T> value = load(x.g + at) + load(x.fall + at);
        high[chain] = maximum(value, high[chain]);
        const Vec<T> above = maximum(value - splat<T>(g_i), Vec<T>{}), square = above * above;
        Vec<T> curvature;
        if constexpr (ONES) {
          curvature = maximum(T(2) - T(2) * load(row + at), splat<T>(T(2) * LEAST_CURVATURE<T>));
        } else {
          const Vec<T> size = splat<T>(K_ii) + load(x.diagonal + at);
          curvature = maximum(size - T(2) * load(row + at), size * LEAST_CURVATURE<T> + T(1e-30));
        }
        const auto wins = square * curvatures[chain] > squares[chain] * curvature;
        squares[chain] = wins ? square : squares[chain];
        curvatures[chain] = wins ? curvature : curvatures[chain];
        place[chain] = wins ? here : place[chain];
      });
      here += splat_integer<T>(STEP_UNIT<T>);
    }
  }
  largest = maximum_of<T>(maximum(high[0], high[1]));
  T gain;
  return best_place<T, false>(squares[0] / curvatures[0], squares[1] / curvatures[1], place[0], place[1], gain);
}

INLINE bool stop_asked(const Stop* stop) {
  if (stop->poll && stop->poll(stop->context)) return true;
  return __atomic_load_n(stop->flag, __ATOMIC_RELAXED) != 0;
}

// Steps until the violation is at most `goal`. rows(i, k) is the row of variable i as run k sees it; it may compute the
// row, and what it gave for the last two variables must stay valid.
template <class T, bool ONES, class Rows>
Ended pair_steps(Variables<T>& x, Rows& rows, T goal, int64_t max_steps, const Stop* stop, int64_t& steps) {
  int64_t i = -1, j = -1;
  T change = 0;
  double work = 0;
  int64_t nonzero = 0, nonzero_before = 0;  // how many more are than at first
  const double size = double(x.end[x.runs - 1]);
  const int groups = x.joined ? 1 : x.runs;  // of runs with an equality together
  const auto rows_of = [&](int64_t v, int first, int last, const T** of) {
    for (int k = first; k < last; k++) of[k] = rows(v, k);
  };
  for (;; steps++) {
    int64_t low_at[2] = {}, best_i = -1, best_j = -1;
    T low[2] = {}, worst = -1, low_i = 0;
    const T *Ki[2] = {x.g, x.g}, *Kj[2] = {x.g, x.g};
    if (i >= 0) rows_of(i, 0, x.runs, Ki), rows_of(j, 0, x.runs, Kj);
    for (int group = 0; group < groups; group++) {
      const int first = group, last = x.joined ? x.runs : group + 1;
      low_at[group] = i < 0 ? descend<T, false>(x, Ki, Kj, T(0), first, last, low[group])
                            : descend<T, true>(x, Ki, Kj, change, first, last, low[group]);
    }
    for (int group = 0; group < groups; group++) {
      const int first = group, last = x.joined ? x.runs : group + 1;
      T largest;
      rows_of(low_at[group], first, last, Ki);
      const int64_t v = partner<T, ONES>(x, Ki, low[group], ONES ? T(1) : x.diagonal[low_at[group]], first, last, largest);
      if (largest - low[group] > worst) worst = largest - low[group], best_i = low_at[group], best_j = v, low_i = low[group];
    }
    if (!(worst > goal)) return REACHED;
    if (x.check_step > 0) {
      if (steps == x.check_step - TRIAL_WINDOW_STEPS) nonzero_before = nonzero;
      if (steps == x.check_step && nonzero - nonzero_before > x.most_entering) return TRIED;
    }
    if (steps >= max_steps) return x.limited;
    work += size + double(rows.take_work());
    if (work > CHECK_WORK) {
      if (stop_asked(stop)) return ASKED;
      work = 0;
    }
    i = best_i, j = best_j;
    const double gain = double(x.g[j]) + double(x.fall[j]) - double(low_i);
    if (!(gain > 0)) return NO_STEP;
    const double own = ONES ? 2.0 : double(x.diagonal[i]) + double(x.diagonal[j]);
    const double curvature = own - 2.0 * double(rows(i, x.runs == 2 && j >= x.begin[1])[j]);
    const double least = double(LEAST_CURVATURE<T>) * own + 1e-30;
    double by = gain / maximum(curvature, least);
    const double up = x.upper[i] - x.a[i], down = x.a[j] - x.lower[j];
    by = minimum(by, minimum(up, down));
    if (!(by > 0)) return NO_STEP;
    nonzero -= (x.a[i] != 0) + (x.a[j] != 0);
    // Within rounding of a bound is at it: a variable that only seems free would decide the intercept.
    x.a[i] = up - by <= BOUND_ROUNDING * (absolute(x.a[i]) + by) ? x.upper[i] : x.a[i] + by;
    x.a[j] = down - by <= BOUND_ROUNDING * (absolute(x.a[j]) + by) ? x.lower[j] : x.a[j] - by;
    nonzero += (x.a[i] != 0) + (x.a[j] != 0);
    x.mark(i), x.mark(j);
    change = T(by);
  }
}

}  // namespace LEVEL::batch_code
