// Pair steps (pair_steps/pair_steps.h) on rows of K that are made when they are needed, and that runs of variables see
// as rows of their own. Runs are whole pairs of vectors.
#pragma once
#include "batch/points.h"
#include "pair_steps/passes.h"

namespace LEVEL::batch_code {

constexpr double BARRED = PAIR_BARRIER;
template <class T> constexpr T HUGE_GRADIENT = T(3e38);
template <class T> constexpr int STEP_UNIT = 2 * LANES<T>;
constexpr int64_t TRIAL_WINDOW_STEPS = 32;  // see Problems
constexpr double CHECK_WORK = 2e6;          // values touched between two checks of the stop flag: about a millisecond

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

INLINE bool stop_asked(const Stop* stop) {
  if (stop->poll && stop->poll(stop->context)) return true;
  return __atomic_load_n(stop->flag, __ATOMIC_RELAXED) != 0;
}

// Steps until the violation is at most `goal`. rows(i, k) is the row of variable i as run k sees it; it may compute the
// row, and what it gave for the last two variables must stay valid.
template <class T, bool ONES, class Rows>
Ended pair_steps(Variables<T>& x, Rows& rows, T goal, int64_t max_steps, const Stop* stop, int64_t& steps) {
  int64_t i = -1, j = -1;
  T change = 0, scale = 1;
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
      SmallestPlace<T> lowest;
      for (int k = first; k < last; k++)
        if (i < 0)
          move_pass<T, false>(x.g, Ki[k], Kj[k], T(0), x.rise, x.begin[k], x.end[k], lowest);
        else
          move_pass<T, true>(x.g, Ki[k], Kj[k], change, x.rise, x.begin[k], x.end[k], lowest);
      low_at[group] = lowest.first(), low[group] = x.g[low_at[group]] + x.rise[low_at[group]];
    }
    for (int group = 0; group < groups; group++) {
      const int first = group, last = x.joined ? x.runs : group + 1;
      rows_of(low_at[group], first, last, Ki);
      Partner<T> partner(low[group], ONES ? T(1) : x.diagonal[low_at[group]], scale);
      for (int k = first; k < last; k++)
        partner_pass<T, ONES>(x.g, x.fall, Ki[k], x.diagonal, x.begin[k], x.end[k], partner);
      const T violation = partner.largest() - low[group];
      if (violation > worst)
        worst = violation, best_i = low_at[group], best_j = partner.place(), low_i = low[group];
    }
    if (!(worst > goal)) return REACHED;
    if (x.check_step > 0) {
      if (steps == x.check_step - TRIAL_WINDOW_STEPS) nonzero_before = nonzero;
      if (steps == x.check_step && nonzero - nonzero_before > x.most_entering) return TRIED;
    }
    if (steps >= max_steps) return x.limited;
    scale = 1 / worst;
    work += size + double(rows.take_work());
    if (work > CHECK_WORK) {
      if (stop_asked(stop)) return ASKED;
      work = 0;
    }
    i = best_i, j = best_j;
    const double gain = double(x.g[j]) + double(x.fall[j]) - double(low_i);
    if (!(gain > 0)) return NO_STEP;
    const double own = ONES ? 2.0 : double(x.diagonal[i]) + double(x.diagonal[j]);
    const double K_ij = double(rows(i, x.runs == 2 && j >= x.begin[1])[j]);
    const double by = step_length<T>(gain, own, K_ij, x.upper[i] - x.a[i], x.a[j] - x.lower[j]);
    if (!(by > 0)) return NO_STEP;
    nonzero -= (x.a[i] != 0) + (x.a[j] != 0);
    x.a[i] = moved(x.a[i], by, x.upper[i]), x.a[j] = moved(x.a[j], -by, x.lower[j]);
    nonzero += (x.a[i] != 0) + (x.a[j] != 0);
    x.mark(i), x.mark(j);
    change = T(by);
  }
}

}  // namespace LEVEL::batch_code
