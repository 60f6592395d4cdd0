#include "block_steps/block_steps.h"

#include "core/simd.h"

namespace LEVEL {

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

const BlockStepsTable block_steps_table = {coordinates};

}  // namespace LEVEL
