#include "folds/folds.h"

#include "pair_steps/solve_pairs.h"

namespace LEVEL {

constexpr double SUM_ROUNDING = 1e-14;  // relative to the sizes of a group's variables

template <class T> INLINE void add_row(const Fold<T>& f, int64_t row, double step) {
  const T* Q = f.pairs.K + row * f.pairs.stride;
  T* g = f.pairs.g;
  const T d = T(step);
  for (int64_t t = 0; t < f.size; t++) g[t] += d * Q[t];
}

// The variable that most wants to fall (or rise) among those that may; -1 if there is none.
template <class T> INLINE int64_t eager(const Fold<T>& f, int64_t group, bool falls) {
  const auto& x = f.pairs;
  int64_t best = -1;
  for (int64_t t = x.starts[group]; t < x.stops[group]; t++) {
    if ((falls ? x.fall[t] : x.rise[t]) != T(0)) continue;
    if (best < 0 || (falls ? x.g[t] > x.g[best] : x.g[t] < x.g[best])) best = t;
  }
  return best;
}

// Bring the sum of a group to its total.
template <class T> void restore_sum(const Fold<T>& f, int64_t group) {
  const auto& x = f.pairs;
  const double total = f.totals[group];
  double excess = -total, size = absolute(total);
  for (int64_t t = x.starts[group]; t < x.stops[group]; t++) excess += x.a[t], size += absolute(x.a[t]);
  for (int64_t tries = 2 * (x.stops[group] - x.starts[group]); tries > 0 && absolute(excess) > SUM_ROUNDING * size; tries--) {
    const bool falls = excess > 0.0;
    const int64_t t = eager(f, group, falls);
    if (t < 0) return;
    const double bound = falls ? x.lower[t] : x.upper[t], slack = absolute(bound - x.a[t]);
    const bool reached = slack <= absolute(excess);
    const double step = (falls ? -1.0 : 1.0) * (reached ? slack : absolute(excess));
    x.a[t] = reached ? bound : x.a[t] + step;
    (falls ? x.fall : x.rise)[t] = reached ? T(falls ? -PAIR_BARRIER : PAIR_BARRIER) : T(0);
    (falls ? x.rise : x.fall)[t] = T(0);
    excess += step;
    add_row(f, t, step);
  }
}

template <class T> INLINE bool held_out(const Fold<T>& f, int64_t t) {
  return f.folds[t] == FOLD_OF_PADDING || f.folds[t] == f.fold;
}

template <class T> void start(const Fold<T>& f) {
  const auto& x = f.pairs;
  for (int64_t t = 0; t < f.size; t++) {
    const bool out = held_out(f, t);
    x.rise[t] = !out && f.all[t] < x.upper[t] ? T(0) : T(PAIR_BARRIER);
    x.fall[t] = !out && f.all[t] > x.lower[t] ? T(0) : T(-PAIR_BARRIER);
    x.a[t] = out ? 0.0 : f.all[t];
    if (out && f.all[t] != 0.0) add_row(f, t, -f.all[t]);
  }
  for (int64_t k = 0; k < f.equalities; k++) restore_sum(f, k);
}

template <class T> void offsets(const Fold<T>& f, double* out) {
  const auto& x = f.pairs;
  for (int64_t k = 0; k < f.equalities; k++) {
    double total = 0.0, lowest = __builtin_inf(), highest = -__builtin_inf();
    int64_t free = 0;
    for (int64_t t = x.starts[k]; t < x.stops[k]; t++) {
      if (held_out(f, t)) continue;
      const bool may_rise = x.a[t] < x.upper[t], may_fall = x.a[t] > x.lower[t];
      const double g = double(x.g[t]);
      if (may_rise && may_fall) total += g, free++;
      if (may_rise) lowest = minimum(g, lowest);
      if (may_fall) highest = maximum(g, highest);
    }
    const bool below = lowest < __builtin_inf(), above = highest > -__builtin_inf();
    out[k] = free > 0          ? total / double(free)
             : below && above ? 0.5 * (lowest + highest)
             : below          ? lowest
             : above          ? highest
                              : 0.0;
  }
}

// Variables in slots, groups one after the other; without groups one slot without bounds stands for the known offset.
static void fill_slots(const SmallFolds& p, const SmallFoldsScratch& s) {
  const bool tied = p.groups > 0;
  int64_t size = 0, offset_slot = 0;
  for (int64_t k = 0; k < (tied ? p.groups : 1); k++) {
    s.starts[k] = size;
    for (int64_t v = 0; v < p.variables; v++)
      if (!tied || p.group[v] == k) s.slot[v] = size++;
    offset_slot = size;
    size = (size + !tied + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
    s.stops[k] = size;
  }
  for (int64_t t = 0; t < size; t++) {
    s.all[t] = s.low[t] = s.high[t] = s.gradient[t] = s.diagonal[t] = 0.0;
    s.of_slot[t] = FOLD_OF_PADDING;
  }
  if (!tied) s.low[offset_slot] = -__builtin_inf(), s.high[offset_slot] = __builtin_inf(), s.of_slot[offset_slot] = -1;
  if (!p.in_place) {
    __builtin_memset(s.Q, 0, size_t(size * s.q_stride) * sizeof(double));
    for (int64_t u = 0; u < p.variables; u++) {
      const double* source = p.K + p.at[u] * p.stride;
      double* target = s.Q + s.slot[u] * s.q_stride;
      for (int64_t v = 0; v < p.variables; v++) target[s.slot[v]] = p.sign[u] * p.sign[v] * source[p.at[v]];
    }
  }
  for (int64_t v = 0; v < p.variables; v++) {
    const int64_t t = s.slot[v];
    s.all[t] = p.a[v], s.low[t] = p.lower[v], s.high[t] = p.upper[v], s.of_slot[t] = p.folds[v];
    s.gradient[t] = p.sign[v] * p.f[v] + p.linear[v];
    s.diagonal[t] = p.in_place ? p.K[t * p.stride + t] : s.Q[t * s.q_stride + t];
  }
}

int64_t small(const SmallFolds& p, const SmallFoldsScratch& s, int64_t first, int64_t max_operations) {
  fill_slots(p, s);
  const PairProblem<double> pairs{p.in_place ? p.K : s.Q,
                                  p.in_place ? p.stride : s.q_stride,
                                  s.g,
                                  s.x,
                                  s.low,
                                  s.high,
                                  s.rise,
                                  s.fall,
                                  s.diagonal,
                                  s.starts,
                                  s.stops,
                                  p.groups > 0 ? p.groups : 1};
  int64_t operations = 0, k = first;
  for (; k < p.count && operations < max_operations; k++) {
    const Fold<double> fold{pairs, s.size, s.all, s.of_slot, k, p.totals + k * p.groups, p.groups};
    for (int64_t t = 0; t < s.size; t++) s.g[t] = s.gradient[t];
    start(fold);
    operations += s.size * (s.size + 2 * solve_pairs(pairs, p.goal, p.max_steps));
    offsets(fold, p.offsets + k * p.groups);
    for (int64_t v = 0; v < p.variables; v++)
      if (p.folds[v] == k) p.values[v] = p.sign[v] * (s.g[s.slot[v]] - p.linear[v]);
  }
  return k;
}

template <class T> constexpr FoldsFunctions<T> FOLDS_FUNCTIONS = {start<T>, offsets<T>};

const FoldsTable folds_table = {{FOLDS_FUNCTIONS<float>, FOLDS_FUNCTIONS<double>}, small};

}  // namespace LEVEL
