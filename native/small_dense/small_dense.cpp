#include "small_dense/small_dense.h"

#include "pair_steps/solve_pairs.h"

namespace LEVEL {

// f = K c and g = sign f + linear of every variable.
static void renew_gradient(const SmallDense& p, const SmallDenseScratch& s) {
  for (int64_t i = 0; i < p.rows; i++) s.coef[i] = p.f[i] = 0;
  for (int64_t v = 0; v < p.variables; v++) s.coef[p.row[v]] += p.sign[v] * p.a[v];
  for (int64_t j = 0; j < p.rows; j++) {
    if (s.coef[j] == 0) continue;
    const double* source = p.K + p.at[j] * p.stride;
    const double c = s.coef[j];
    if (p.in_place)
      for (int64_t i = 0; i < p.rows; i++) p.f[i] += c * source[i];
    else
      for (int64_t i = 0; i < p.rows; i++) p.f[i] += c * source[p.at[i]];
  }
  for (int64_t v = 0; v < p.variables; v++) s.g[s.slot[v]] = p.sign[v] * p.f[p.row[v]] + p.linear[v];
}

static SmallDenseResult solve(const SmallDense& p, const SmallDenseScratch& s) {
  const bool no_groups = p.groups == 0;
  const int64_t ranges = no_groups ? 1 : p.groups;
  const double infinity = __builtin_inf();
  int64_t size = 0, offset_slot = 0;
  for (int64_t k = 0; k < ranges; k++) {
    s.starts[k] = size;
    for (int64_t v = 0; v < p.variables; v++)
      if (no_groups || p.group[v] == k) s.slot[v] = size++;
    offset_slot = size;
    size += no_groups;
    size = (size + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
    s.stops[k] = size;
  }
  const double* Q = p.K;
  int64_t stride = p.stride;
  if (!p.in_place) {
    Q = s.Q, stride = s.q_stride;
    __builtin_memset(s.Q, 0, size_t(size) * size_t(stride) * sizeof(double));
    for (int64_t u = 0; u < p.variables; u++) {
      const double* source = p.K + p.at[p.row[u]] * p.stride;
      double* target = s.Q + s.slot[u] * stride;
      for (int64_t v = 0; v < p.variables; v++)
        target[s.slot[v]] = p.sign[u] * p.sign[v] * source[p.at[p.row[v]]];
    }
  }
  for (int64_t t = 0; t < size; t++) {
    s.x[t] = s.low[t] = s.high[t] = s.g[t] = s.diagonal[t] = 0;
    s.rise[t] = PAIR_BARRIER, s.fall[t] = -PAIR_BARRIER;
  }
  const PairProblem<double> pairs{Q,      stride, s.g,        s.x,      s.low,   s.high,
                                  s.rise, s.fall, s.diagonal, s.starts, s.stops, ranges};
  int64_t steps = 0;
  for (int renewal = 0; renewal < SMALL_DENSE_RENEWALS; renewal++) {
    renew_gradient(p, s);
    for (int64_t v = 0; v < p.variables; v++) {
      const int64_t t = s.slot[v];
      s.x[t] = p.a[v], s.low[t] = p.lower[v], s.high[t] = p.upper[v], s.diagonal[t] = Q[t * stride + t];
      s.rise[t] = p.a[v] < p.upper[v] ? 0.0 : PAIR_BARRIER;
      s.fall[t] = p.a[v] > p.lower[v] ? 0.0 : -PAIR_BARRIER;
    }
    if (no_groups) {
      s.x[offset_slot] = s.g[offset_slot] = s.rise[offset_slot] = s.fall[offset_slot] = 0;
      s.low[offset_slot] = -infinity, s.high[offset_slot] = infinity;
    }
    double violation = 0;
    for (int64_t k = 0; k < ranges; k++) {
      double lowest = infinity, highest = -infinity;
      for (int64_t t = s.starts[k]; t < s.stops[k]; t++) {
        lowest = minimum(s.g[t] + s.rise[t], lowest);
        highest = maximum(s.g[t] + s.fall[t], highest);
      }
      violation = maximum(highest - lowest, violation);
    }
    if (violation <= p.goal || steps >= p.max_steps) return {steps, violation};
    steps += solve_pairs(pairs, 0.9 * p.goal, p.max_steps - steps);
    for (int64_t v = 0; v < p.variables; v++) p.a[v] = s.x[s.slot[v]];
  }
  return {steps, infinity};
}

const SmallDenseTable small_dense_table = {solve};

}  // namespace LEVEL
