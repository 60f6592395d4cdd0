#include "coefficients/coefficients.h"

#include "core/simd.h"

namespace LEVEL {

constexpr double EPS = 2.220446049250313e-16;

// The part of `full` that a row takes: its share while there is as much, then what is left.
static INLINE double taken_of(double full, double share, const DistributedShare& done) {
  if (full >= 1) return share;
  const double left = full - done.before, rounding = 4 * EPS * double(done.rows) * done.before;
  if (left >= share - rounding) return share;
  return left > rounding ? left : 0;
}

static void distribute(const MergedCoefficients& merged, const InputRows& rows, DistributedShare* done, double* out) {
  const int64_t m = merged.problems;
  for (int64_t s = 0; s < rows.count; s++, out += m) {
    const int64_t p = rows.of[s];
    const double share = rows.share[s];
    const bool alone = share == 1;
    for (int64_t t = 0; t < m; t++) {
      const double whole = merged.coefficients[p * m + t], full = merged.filled[p * m + t];
      const double bound = rows.bounds[s * m + t];
      if (alone || full == 0) {  // without a bound the first row takes all
        out[t] = done[p].rows == 0 ? whole : 0.0;
        continue;
      }
      const double taken = taken_of(full, share, done[p]);
      out[t] = taken == full ? whole : whole * (taken / full);
      if (taken == share && whole != 0 && bound > 0 && bound < __builtin_inf()) out[t] = whole > 0 ? bound : -bound;
    }
    done[p].before += share;
    done[p].rows++;
  }
}

const CoefficientsTable coefficients_table = {distribute};

}  // namespace LEVEL
