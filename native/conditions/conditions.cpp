#include "conditions/conditions.h"

#include "core/simd.h"

namespace LEVEL {

static void scan(const ConditionVariables& x, int64_t groups, const ConditionSums& out) {
  for (int64_t k = 0; k <= groups; k++) {
    out.rise[k] = __builtin_inf(), out.fall[k] = -__builtin_inf();
    out.free_sum[k] = out.n_free[k] = out.total[k] = 0;
  }
  // Selections instead of branches, which nobody could predict.
  for (int64_t v = 0; v < x.count; v++) {
    const bool tied = x.group[v] >= 0, may_rise = x.a[v] < x.upper[v], may_fall = x.a[v] > x.lower[v];
    const int64_t k = tied ? x.group[v] : groups;
    const double g = x.gradient[v], known = tied ? __builtin_inf() : 0.0;
    out.rise[k] = minimum(minimum(may_rise ? g : __builtin_inf(), known), out.rise[k]);
    out.fall[k] = maximum(maximum(may_fall ? g : -__builtin_inf(), -known), out.fall[k]);
    const bool free = may_rise & may_fall;
    out.free_sum[k] += free ? g : 0.0;
    out.n_free[k] += free;
    out.total[k] += x.a[v];
  }
}

static Slackness slackness(const ConditionVariables& x, const double* offset) {
  Slackness worst{0, 0};
  for (int64_t v = 0; v < x.count; v++) {
    const double pull = x.gradient[v] - (x.group[v] >= 0 ? offset[x.group[v]] : 0.0);
    worst.outside = maximum(maximum(x.lower[v] - x.a[v], x.a[v] - x.upper[v]), worst.outside);
    const double slack = pull > 0 ? x.a[v] - x.lower[v] : x.upper[v] - x.a[v];
    if (slack - slack == 0) worst.product = maximum(absolute(pull) * slack, worst.product);
  }
  return worst;
}

const ConditionsTable conditions_table = {scan, slackness};

}  // namespace LEVEL
