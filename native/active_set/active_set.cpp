#include "active_set/active_set.h"

#include "core/simd.h"

namespace LEVEL {
namespace active_set_code {

constexpr double AT_BOUND = 1e-14;      // relative distance to a bound that counts as being there
constexpr double INNER_SHARE = 0.1;     // of the goal: the spread of the free gradients at a minimum over F
constexpr int FULL_STEPS_MAX = 3;       // steps over one F: rounding may leave a spread
constexpr double LEAST_PIVOT = 0.25;    // of the ridge

INLINE void subtract(double* to, double by, const double* x, int64_t n) {
  int64_t t = 0;
  for (; t + LANES<double> <= n; t += LANES<double>) store(to + t, load(to + t) - splat<double>(by) * load(x + t));
  for (; t < n; t++) to[t] -= by * x[t];
}

INLINE double dot(const double* x, const double* y, int64_t n) {
  Vec<double> sum[4] = {};
  int64_t t = 0;
  for (; t + 4 * LANES<double> <= n; t += 4 * LANES<double>)
    unrolled<4>([&](auto k) { sum[k] += load(x + t + k * LANES<double>) * load(y + t + k * LANES<double>); });
  double total = sum_of<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (; t < n; t++) total += x[t] * y[t];
  return total;
}

struct Solver {
  const ActiveSet& q;
  const ActiveSetScratch& s;
  int64_t n_free = 0;

  double gradient(int64_t v) const { return q.f[q.row[v]] + q.linear[v]; }
  double* R(int64_t i) const { return s.R + i * s.r_stride; }

  // R' z = z of its first rows.
  void solve_forward(double* z) const {
    for (int64_t i = 0; i < n_free; i++) {
      z[i] /= R(i)[i];
      subtract(z + i + 1, z[i], R(i) + i + 1, n_free - i - 1);
    }
  }
  void solve_backward(double* z) const {
    for (int64_t i = n_free - 1; i >= 0; i--) z[i] = (z[i] - dot(R(i) + i + 1, z + i + 1, n_free - i - 1)) / R(i)[i];
  }

  void join(int64_t v) {
    const double* own = q.K + q.row[v] * q.stride;
    for (int64_t i = 0; i < n_free; i++) s.p[i] = own[q.row[s.free[i]]];
    solve_forward(s.p);
    const double pivot = own[q.row[v]] + q.ridge - dot(s.p, s.p, n_free);
    for (int64_t i = 0; i < n_free; i++) R(i)[n_free] = s.p[i];
    R(n_free)[n_free] = square_root(maximum(pivot, LEAST_PIVOT * q.ridge));
    s.inside[v] = 1, s.free[n_free++] = v;
  }

  void leave(int64_t place) {
    s.inside[s.free[place]] = 0;
    n_free--;
    for (int64_t i = place; i < n_free; i++) s.free[i] = s.free[i + 1];
    for (int64_t i = 0; i <= place; i++) __builtin_memmove(R(i) + place, R(i) + place + 1, size_t(n_free - place) * 8);
    for (int64_t i = place; i < n_free; i++) {  // row i + 1 begins one place too far to the left
      double *upper = R(i), *lower = R(i + 1);
      const double a = i == place ? upper[i] : upper[i], b = lower[i + 1];
      const double size = square_root(a * a + b * b), c = a / size, d = b / size;
      __builtin_memmove(lower + i, lower + i + 1, size_t(n_free - i) * 8);
      int64_t t = i;
      for (; t + LANES<double> <= n_free; t += LANES<double>) {
        const Vec<double> x = load(upper + t), y = load(lower + t);
        store(upper + t, splat<double>(c) * x + splat<double>(d) * y);
        store(lower + t, splat<double>(c) * y - splat<double>(d) * x);
      }
      for (; t < n_free; t++) {
        const double x = upper[t], y = lower[t];
        upper[t] = c * x + d * y, lower[t] = c * y - d * x;
      }
      upper[i] = size;
    }
  }

  // The step over F; false where none lowers the objective. `full`: no bound was met.
  bool move(bool& full) {
    double *p = s.p, *ones = s.ones;
    for (int64_t i = 0; i < n_free; i++) p[i] = gradient(s.free[i]), ones[i] = 1;
    solve_forward(p);
    solve_forward(ones);
    const double offset = dot(ones, p, n_free) / dot(ones, ones, n_free);
    for (int64_t i = 0; i < n_free; i++) p[i] = offset * ones[i] - p[i];
    solve_backward(p);
    double sum = 0;
    for (int64_t i = 0; i < n_free; i++) sum += p[i];
    double slope = 0, curvature = 0, longest = __builtin_inf();
    for (int64_t r = 0; r < q.rows; r++) s.change[r] = 0;
    for (int64_t i = 0; i < n_free; i++) {
      const int64_t v = s.free[i];
      p[i] -= sum / double(n_free);
      slope += p[i] * (gradient(v) - offset);
      subtract(s.change, -p[i], q.K + q.row[v] * q.stride, q.rows);
      const double room = p[i] > 0 ? q.upper[v] - q.d[v] : q.lower[v] - q.d[v];
      if (p[i] != 0) longest = minimum(longest, room / p[i]);
    }
    for (int64_t i = 0; i < n_free; i++) curvature += p[i] * s.change[q.row[s.free[i]]];
    if (!(slope < 0)) return false;
    const double newton = curvature > 0 ? -slope / curvature : __builtin_inf(), t = minimum(newton, longest);
    if (!(t < __builtin_inf())) return false;
    full = newton < longest;
    subtract(q.f, -t, s.change, q.rows);
    for (int64_t i = n_free - 1; i >= 0; i--) {
      const int64_t v = s.free[i];
      const double by = t * p[i], bound = by > 0 ? q.upper[v] : q.lower[v], left = absolute(bound - q.d[v] - by);
      const bool ends = p[i] != 0 && ((!full && room_ratio(v, p[i]) <= t) || left <= AT_BOUND * (absolute(q.d[v]) + absolute(by)));
      q.d[v] = ends ? bound : q.d[v] + by;
      s.forward[i] = ends;
    }
    for (int64_t i = n_free - 1; i >= 0; i--)
      if (s.forward[i] != 0) leave(i);
    return true;
  }
  double room_ratio(int64_t v, double p) const { return (p > 0 ? q.upper[v] - q.d[v] : q.lower[v] - q.d[v]) / p; }
};

ActiveSetResult solve(const ActiveSet& q, const ActiveSetScratch& s) {
  Solver z{q, s};
  for (int64_t v = 0; v < q.variables; v++) s.inside[v] = 0;
  for (int64_t v = 0; v < q.variables && z.n_free < q.max_free; v++)
    if (q.d[v] > q.lower[v] && q.d[v] < q.upper[v]) z.join(v);
  int full_steps = 0;
  for (int64_t steps = 0;; steps++) {
    double rise = __builtin_inf(), fall = -rise, low = rise, high = fall, sum = 0;
    double join_rise = rise, join_fall = fall;
    int64_t riser = -1, faller = -1;
    for (int64_t v = 0; v < q.variables; v++) {
      const double g = z.gradient(v);
      const bool up = q.d[v] < q.upper[v], down = q.d[v] > q.lower[v];
      if (up) rise = minimum(rise, g);
      if (down) fall = maximum(fall, g);
      if (s.inside[v]) {
        low = minimum(low, g), high = maximum(high, g), sum += g;
      } else {
        if (up && g < join_rise) join_rise = g, riser = v;
        if (down && g > join_fall) join_fall = g, faller = v;
      }
    }
    const double violation = maximum(fall - rise, 0.0);
    if (violation <= q.goal || steps >= q.max_steps) return {steps, violation};
    if (z.n_free < 2 || high - low <= INNER_SHARE * q.goal || full_steps >= FULL_STEPS_MAX) {
      const double offset = z.n_free ? sum / double(z.n_free) : 0.5 * (rise + fall);
      if (z.n_free == 0) {  // a pair
        if (q.max_free < 2 || riser < 0 || faller < 0 || riser == faller) return {steps, violation};
        z.join(riser), z.join(faller);
      } else {
        const double above = join_fall - offset, below = offset - join_rise;
        const int64_t v = above > below ? faller : riser;
        if (z.n_free >= q.max_free || v < 0 || !(maximum(above, below) > INNER_SHARE * q.goal)) return {steps, violation};
        z.join(v);
      }
      full_steps = 0;
    }
    bool full = false;
    if (!z.move(full)) {
      if (full_steps >= FULL_STEPS_MAX) return {steps, violation};
      full_steps = FULL_STEPS_MAX;
    } else {
      full_steps = full ? full_steps + 1 : 0;
    }
  }
}

}  // namespace active_set_code

const ActiveSetTable active_set_table = {active_set_code::solve};

}  // namespace LEVEL
