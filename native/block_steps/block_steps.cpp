#include "block_steps/block_steps.h"

#include "pair_steps/solve_pairs.h"

namespace LEVEL {

// Below rounding the curvature is unknown: a larger one only shortens the step.
static INLINE double curvature_of(double size, double cross, double q_uu, double q_vv) {
  return maximum(size - 2.0 * cross, 1e-15 * (absolute(q_uu) + absolute(q_vv)) + 1e-300);
}

static int64_t pairs(const BlockProblem& b, const BlockScratch& s) {
  for (int64_t u = 0; u < b.count; u++) s.diagonal[u] = b.Q[u * b.stride + u];
  for (int64_t step = 0; step < b.max_steps; step++) {
    for (int64_t k = 0; k < b.groups; k++)
      s.lowest[k] = __builtin_inf(), s.highest[k] = -__builtin_inf(), s.first[k] = -1;
    for (int64_t u = 0; u < b.count; u++) {
      const int64_t k = b.group[u];
      if (b.a[u] < b.upper[u] && b.g[u] < s.lowest[k]) s.lowest[k] = b.g[u], s.first[k] = u;
      if (b.a[u] > b.lower[u] && b.g[u] > s.highest[k]) s.highest[k] = b.g[u];
    }
    double worst = 0;
    for (int64_t k = 0; k < b.groups; k++) worst = maximum(s.highest[k] - s.lowest[k], worst);
    if (worst <= b.goal) return step;
    double best = 0;
    int64_t i = -1, j = -1;
    for (int64_t u = 0; u < b.count; u++) {
      const int64_t v = s.first[b.group[u]];
      const double difference = b.g[u] - s.lowest[b.group[u]];
      if (v < 0 || !(difference > 0) || !(b.a[u] > b.lower[u])) continue;
      const double own = s.diagonal[u], other = s.diagonal[v];
      const double gain = difference * difference / curvature_of(own + other, b.Q[v * b.stride + u], own, other);
      if (gain > best) best = gain, i = v, j = u;
    }
    if (j < 0) return step;
    const double own = s.diagonal[i], other = s.diagonal[j];
    double move = (b.g[j] - b.g[i]) / curvature_of(own + other, b.Q[i * b.stride + j], own, other);
    move = minimum(minimum(b.upper[i] - b.a[i], b.a[j] - b.lower[j]), move);
    b.a[i] = moved(b.a[i], move, b.upper[i]);
    b.a[j] = moved(b.a[j], -move, b.lower[j]);
    const double *row_i = b.Q + i * b.stride, *row_j = b.Q + j * b.stride;
    for (int64_t u = 0; u < b.count; u++) b.g[u] += move * (row_i[u] - row_j[u]);
  }
  return b.max_steps;
}

static int64_t coordinates(const BlockProblem& b) {
  for (int64_t step = 0; step < b.max_steps; step++) {
    double lowest = 0, highest = 0, best = 0, target = 0;
    int64_t i = -1;
    for (int64_t u = 0; u < b.count; u++) {
      if (b.a[u] < b.upper[u]) lowest = minimum(b.g[u], lowest);
      if (b.a[u] > b.lower[u]) highest = maximum(b.g[u], highest);
      const double curvature = maximum(b.Q[u * b.stride + u], 1e-300);
      const double aim = minimum(maximum(b.a[u] - b.g[u] / curvature, b.lower[u]), b.upper[u]);
      const double d = aim - b.a[u], gain = -d * (b.g[u] + 0.5 * curvature * d);
      if (gain > best) best = gain, i = u, target = aim;
    }
    if (highest - lowest <= b.goal || i < 0) return step;
    const double d = target - b.a[i];
    b.a[i] = target;
    const double* row = b.Q + i * b.stride;
    for (int64_t u = 0; u < b.count; u++) b.g[u] += d * row[u];
  }
  return b.max_steps;
}

const BlockStepsTable block_steps_table = {pairs, coordinates};

}  // namespace LEVEL
