#include "coefficients/coefficients.h"

#include "core/simd.h"

namespace LEVEL {

constexpr double SHARE_MIN = 1e-12;         // a smaller part of a bound is rounding
constexpr double AT_BOUND_ROUNDING = 1e-9;  // relative

static void distribute(const MergedCoefficients& merged, const InputRows& rows, double* before, double* out) {
  const int64_t m = merged.problems;
  for (int64_t s = 0; s < rows.count; s++, out += m) {
    const int64_t p = rows.of[s];
    const double share = rows.share[s];
    for (int64_t t = 0; t < m; t++) {
      const double whole = merged.coefficients[p * m + t], full = merged.filled[p * m + t];
      const double bound = rows.bounds[s * m + t];
      if (full == 0) {  // without a bound the first row takes all
        out[t] = before[p] <= SHARE_MIN ? whole : 0.0;
        continue;
      }
      const double part = minimum(maximum(full - before[p], 0.0), share);
      double value = part < SHARE_MIN ? 0.0 : whole * (part / full);
      // A row at its bound is exactly there. (The joint multiclass problem gives no bounds: its rows divide several.)
      if (value != 0 && part >= (1 - AT_BOUND_ROUNDING) * share && bound > 0 && bound < __builtin_inf())
        value = value > 0 ? bound : -bound;
      out[t] = value;
    }
    before[p] += share;
  }
}

const CoefficientsTable coefficients_table = {distribute};

}  // namespace LEVEL
