#include "path/path.h"

#include "pair_steps/solve_pairs.h"
#include "rows/combine.h"

namespace LEVEL {

constexpr double GATHERED_MAX_SHARE = 0.6;  // of the rows: a larger W is not worth a matrix of its own
constexpr double INNER_GOAL_SHARE = 0.05;   // of the violation: where pair steps on W stop,
constexpr double FINAL_GOAL_SHARE = 0.8;    // but not below this part of the goal: the rest is for rounding in float32
constexpr int MAX_ROUNDS = 500;             // a run that needs more makes no progress

struct Conditions {
  double violation, middle, offset;
};

static Conditions conditions(const PathProblem& p, const PathState& state, const PathScratch& s) {
  double lowest = __builtin_inf(), highest = -__builtin_inf(), total = 0;
  int64_t free = 0;
  for (int64_t i = 0; i < p.n; i++) {
    const double slope = state.f[i] - p.y[i];
    const bool may_rise = state.a[i] < s.upper[i], may_fall = state.a[i] > s.lower[i];
    if (may_rise && may_fall) total += slope, free++;
    if (may_rise && slope < lowest) lowest = slope;
    if (may_fall && slope > highest) highest = slope;
  }
  const double middle = 0.5 * (lowest + highest);
  return {maximum(highest - lowest, 0.0), middle, free ? total / double(free) : middle};
}

// May this row move, or soon: is its slope within the violation of the middle?
static INLINE bool is_near(const PathProblem& p, const PathState& state, const PathScratch& s, const Conditions& now,
                           int64_t i) {
  const double slope = state.f[i] - p.y[i] - now.middle;
  return (state.a[i] < s.upper[i] && slope < now.violation) || (state.a[i] > s.lower[i] && slope > -now.violation);
}

// Add the near rows to W and their kernel values to M; W's size.
static int64_t gather_near(const PathProblem& p, const PathState& state, const PathScratch& s, const Conditions& now,
                           int64_t near) {
  int64_t& held = *state.held;
  if (double(held) > 1.5 * double(near) + double(SLOT_UNIT) || held + near > state.m_rows - SLOT_UNIT) {
    for (int64_t t = 0; t < held; t++) s.inside[state.W[t]] = 0;
    held = 0;
  }
  const int64_t before = held;
  for (int64_t i = 0; i < p.n; i++)
    if (!s.inside[i] && is_near(p, state, s, now, i)) state.W[held++] = i, s.inside[i] = 1;
  for (int64_t r = 0; r < held; r++) {  // row by row: K is symmetric, but to write columns takes five times as long
    const float* source = p.K + state.W[r] * p.stride;
    float* target = state.M + r * state.m_stride;
    for (int64_t t = r < before ? before : 0; t < held; t++) target[t] = source[state.W[t]];
  }
  const int64_t stop = (held + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
  for (int64_t r = 0; r < held; r++)
    for (int64_t t = held; t < stop; t++) state.M[r * state.m_stride + t] = 0;
  return held;
}

static PathResult advance(const PathProblem& p, const PathState& state, const PathScratch& s) {
  for (int64_t i = 0; i < p.n; i++) s.inside[i] = 0;
  for (int64_t t = 0; t < *state.held; t++) s.inside[state.W[t]] = 1;
  for (int64_t i = 0; i < p.n; i++) {  // a start on the ray may be beyond a bound by its rounding
    s.upper[i] = p.y[i] > 0 ? p.bound[i] : 0.0, s.lower[i] = p.y[i] > 0 ? 0.0 : -p.bound[i];
    state.a[i] = minimum(maximum(state.a[i], s.lower[i]), s.upper[i]);
  }
  int64_t steps = 0;
  Conditions now{};
  for (int round = 0; round < MAX_ROUNDS; round++) {
    now = conditions(p, state, s);
    if (now.violation <= p.goal || steps >= p.max_steps) break;
    int64_t near = 0;
    for (int64_t i = 0; i < p.n; i++) near += is_near(p, state, s, now, i);
    const bool all = double(near) > GATHERED_MAX_SHARE * double(p.n) || near > state.m_rows - SLOT_UNIT;
    const int64_t m = all ? p.n : gather_near(p, state, s, now, near);
    const int64_t start = 0, stop = (m + SLOT_UNIT - 1) / SLOT_UNIT * SLOT_UNIT;
    for (int64_t t = 0; t < stop; t++) {
      const bool real = t < m;
      const int64_t i = !real ? 0 : all ? t : state.W[t];
      s.x[t] = real ? state.a[i] : 0, s.low[t] = real ? s.lower[i] : 0, s.high[t] = real ? s.upper[i] : 0;
      s.g[t] = real ? float(state.f[i] - p.y[i] - now.middle) : 0;
      s.diagonal[t] = real ? p.K[i * p.stride + i] : 0;
      s.rise[t] = real && state.a[i] < s.upper[i] ? 0 : float(PAIR_BARRIER);
      s.fall[t] = real && state.a[i] > s.lower[i] ? 0 : float(-PAIR_BARRIER);
    }
    const PairProblem<float> pairs{all ? p.K : state.M, all ? p.stride : state.m_stride, s.g,  s.x,    s.low, s.high, s.rise,
                                   s.fall,              s.diagonal,                    &start, &stop, 1};
    const int64_t limit = minimum(p.max_steps - steps, (all ? 2 : 100) * p.n);
    const int64_t taken = solve_pairs(pairs, maximum(INNER_GOAL_SHARE * now.violation, FINAL_GOAL_SHARE * p.goal), limit);
    steps += maximum(taken, int64_t(1));
    int64_t count = 0;
    for (int64_t t = 0; t < m; t++) {
      const int64_t i = all ? t : state.W[t];
      if (s.x[t] == state.a[i]) continue;
      s.changed[count] = i, s.change[count++] = s.x[t] - state.a[i];
      state.a[i] = s.x[t];
    }
    if (!count) break;
    add_rows(Matrix<const float>{p.K, p.stride, 1}, Indices{s.changed, count}, s.change, state.f, p.n);
  }
  return {steps, now.violation, now.offset};
}

const PathTable path_table = {advance};

}  // namespace LEVEL
