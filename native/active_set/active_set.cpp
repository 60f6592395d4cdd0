#include "active_set/active_set.h"

#include "core/simd.h"

namespace LEVEL {
namespace active_set_code {

constexpr double AT_BOUND = 1e-14;      // relative distance to a bound that counts as being there
constexpr double INNER_SHARE = 0.1;     // of the goal: the spread of the free gradients at a minimum over F
constexpr int FULL_STEPS_MAX = 3;       // steps over one F: rounding may leave a spread
constexpr double LEAST_PIVOT = 0.25;    // of the ridge
constexpr int SETTLE_TURNS_MAX = 40;    // Newton steps over F that variables leave
constexpr int64_t REFINED_MAX_FREE = 256;  // free variables; matrices of low rank have few
constexpr int HALVINGS = 20;            // to find a part of a step
constexpr int CAUTIONS = 4;             // after so many turns that were undone, variables change one at a time
constexpr double JOINING_SHARES[CAUTIONS] = {0, 0.3, 0.6, 0.9};  // of the largest miss, from which variables join

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
  const ActiveSetFactor& factor;
  const ActiveSetScratch& s;
  int64_t n_free;

  double gradient(int64_t v) const { return q.f[q.row[v]] + q.linear[v]; }
  bool full() const { return n_free >= factor.capacity; }
  double* R(int64_t i) const { return factor.R + i * factor.r_stride; }

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
    for (int64_t i = 0; i < n_free; i++) s.p[i] = own[q.row[factor.free[i]]];
    solve_forward(s.p);
    const double pivot = own[q.row[v]] + q.ridge - dot(s.p, s.p, n_free);
    for (int64_t i = 0; i < n_free; i++) R(i)[n_free] = s.p[i];
    R(n_free)[n_free] = square_root(maximum(pivot, LEAST_PIVOT * q.ridge));
    s.inside[v] = 1, factor.free[n_free++] = v;
  }

  void leave(int64_t place) {
    s.inside[factor.free[place]] = 0;
    n_free--;
    for (int64_t i = place; i < n_free; i++) factor.free[i] = factor.free[i + 1];
    for (int64_t i = 0; i <= place; i++) __builtin_memmove(R(i) + place, R(i) + place + 1, size_t(n_free - place) * 8);
    for (int64_t i = place; i < n_free; i++) {  // row i + 1 begins one place too far to the left
      double *upper = R(i), *lower = R(i + 1);
      const double a = upper[i], b = lower[i + 1];
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

  bool is_free(int64_t v) const { return q.d[v] > q.lower[v] && q.d[v] < q.upper[v]; }

  // F becomes the free variables.
  void adopt_free() {
    for (int64_t i = n_free - 1; i >= 0; i--)
      if (!is_free(factor.free[i])) leave(i);
    for (int64_t v = 0; v < q.variables && !full(); v++)
      if (is_free(v) && !s.inside[v]) join(v);
  }

  // p: the Newton step over F whose sum is `total`; the offset.
  double direction(double total) {
    double *p = s.p, *ones = s.ones;
    for (int64_t i = 0; i < n_free; i++) p[i] = gradient(factor.free[i]), ones[i] = 1;
    solve_forward(p);
    solve_forward(ones);
    const double offset = (total + dot(ones, p, n_free)) / dot(ones, ones, n_free);
    for (int64_t i = 0; i < n_free; i++) p[i] = offset * ones[i] - p[i];
    solve_backward(p);
    if (n_free <= REFINED_MAX_FREE) refine(total, offset);
    double sum = 0;
    for (int64_t i = 0; i < n_free; i++) sum += p[i];
    for (int64_t i = 0; i < n_free; i++) p[i] += (total - sum) / double(n_free);
    return offset;
  }

  // Singular matrices leave few digits of p: what is left of the system is solved for too.
  void refine(double total, double offset) {
    double *p = s.p, *rest = s.rest;
    for (int64_t i = 0; i < n_free; i++) {
      const double* own = q.K + q.row[factor.free[i]] * q.stride;
      double sum = gradient(factor.free[i]) - offset + q.ridge * p[i];
      for (int64_t j = 0; j < n_free; j++) sum += own[q.row[factor.free[j]]] * p[j];
      rest[i] = -sum, total -= p[i];
    }
    solve_forward(rest);
    const double by = (total - dot(s.ones, rest, n_free)) / dot(s.ones, s.ones, n_free);
    for (int64_t i = 0; i < n_free; i++) rest[i] += by * s.ones[i];
    solve_backward(rest);
    for (int64_t i = 0; i < n_free; i++) p[i] += rest[i];
  }

  // f += K p.
  void follow(double by) {
    for (int64_t r = 0; r < q.rows; r++) s.change[r] = 0;
    for (int64_t i = 0; i < n_free; i++) subtract(s.change, -s.p[i], q.K + q.row[factor.free[i]] * q.stride, q.rows);
    subtract(q.f, -by, s.change, q.rows);
  }

  double objective() const {
    double sum = 0;
    for (int64_t v = 0; v < q.variables; v++) sum += q.d[v] * (0.5 * q.f[q.row[v]] + q.linear[v]);
    return sum;
  }

  // The part of the step p at which a third of the variables that it takes out of their bounds are outside; 1 if none is.
  double part_way() const {
    double low = 0, high = 1;
    int64_t crossing = 0;
    for (int64_t i = 0; i < n_free; i++) crossing += passes(i, 1);
    if (crossing == 0) return 1;
    for (int k = 0; k < HALVINGS; k++) {
      const double middle = 0.5 * (low + high);
      int64_t count = 0;
      for (int64_t i = 0; i < n_free; i++) count += passes(i, middle);
      (3 * count >= crossing ? high : low) = middle;
    }
    return high;
  }
  bool passes(int64_t i, double t) const {
    const int64_t v = factor.free[i];
    const double there = q.d[v] + t * s.p[i];
    return there <= q.lower[v] || there >= q.upper[v];
  }

  // The minimum over F and the bounds of its variables, or near it; false where it was not found.
  bool settle(double total) {
    for (int turn = 0; turn < SETTLE_TURNS_MAX && n_free > 1; turn++) {
      double missing = total;
      for (int64_t v = 0; v < q.variables; v++) missing -= q.d[v];
      direction(missing);
      const double t = part_way();
      bool inside = true;
      for (int64_t i = 0; i < n_free; i++) {
        const int64_t v = factor.free[i];
        const double there = q.d[v] + t * s.p[i], nearest = minimum(maximum(there, q.lower[v]), q.upper[v]);
        if (!(absolute(there) < __builtin_inf())) return false;
        s.p[i] = nearest - q.d[v];
        q.d[v] = nearest, s.ends[i] = nearest <= q.lower[v] || nearest >= q.upper[v];
        inside = inside && !s.ends[i];
      }
      follow(1);
      if (inside) return true;
      for (int64_t i = n_free - 1; i >= 0; i--)
        if (s.ends[i]) leave(i);
    }
    return false;
  }

  void change_blocks() {
    double total = 0, best = __builtin_inf();
    for (int64_t v = 0; v < q.variables; v++) total += q.d[v];
    const auto keep = [&] {
      best = objective();
      __builtin_memcpy(s.best_d, q.d, size_t(q.variables) * 8);
      __builtin_memcpy(s.best_f, q.f, size_t(q.rows) * 8);
    };
    keep();
    int caution = 0;
    for (int64_t turn = 0; turn < q.blocks; turn++) {
      if (settle(total) && !(objective() > best)) {
        keep();
        caution -= caution > 0;
      } else {
        __builtin_memcpy(q.d, s.best_d, size_t(q.variables) * 8);
        __builtin_memcpy(q.f, s.best_f, size_t(q.rows) * 8);
        adopt_free();
        if (++caution >= CAUTIONS) return;
      }
      double offset = 0, worst = 0;
      for (int64_t i = 0; i < n_free; i++) offset += gradient(factor.free[i]) / double(n_free);
      for (int64_t v = 0; v < q.variables; v++) worst = maximum(worst, missed(v, offset));
      const double least = maximum(INNER_SHARE * q.goal, JOINING_SHARES[caution] * worst);
      bool joined = false;
      for (int64_t v = 0; v < q.variables && !full(); v++)
        if (missed(v, offset) > least) join(v), joined = true;
      if (!joined) return;
    }
    adopt_free();
  }
  // By how much a variable at a bound misses the conditions.
  double missed(int64_t v, double offset) const {
    const double miss = gradient(v) - offset;
    if (s.inside[v] || !(miss > 0 ? q.d[v] > q.lower[v] : q.d[v] < q.upper[v])) return 0;
    return absolute(miss);
  }

  // The step over F; false where none lowers the objective. `full`: no bound was met.
  bool move(bool& full) {
    const double *p = s.p, offset = direction(0);
    double slope = 0, curvature = 0, longest = __builtin_inf();
    for (int64_t i = 0; i < n_free; i++) {
      const int64_t v = factor.free[i];
      slope += p[i] * (gradient(v) - offset);
      if (p[i] != 0) longest = minimum(longest, room_ratio(v, p[i]));
    }
    follow(0);
    for (int64_t i = 0; i < n_free; i++) curvature += p[i] * s.change[q.row[factor.free[i]]];
    if (!(slope < 0)) return false;
    const double newton = curvature > 0 ? -slope / curvature : __builtin_inf(), t = minimum(newton, longest);
    if (!(t < __builtin_inf())) return false;
    full = newton < longest;
    subtract(q.f, -t, s.change, q.rows);
    for (int64_t i = n_free - 1; i >= 0; i--) {
      const int64_t v = factor.free[i];
      const double by = t * p[i], bound = p[i] > 0 ? q.upper[v] : q.lower[v], left = absolute(bound - q.d[v] - by);
      const bool met = !full && room_ratio(v, p[i]) <= t, near = left <= AT_BOUND * (absolute(q.d[v]) + absolute(by));
      s.ends[i] = p[i] != 0 && (met || near);
      q.d[v] = s.ends[i] ? bound : q.d[v] + by;
    }
    for (int64_t i = n_free - 1; i >= 0; i--)
      if (s.ends[i]) leave(i);
    return true;
  }
  double room_ratio(int64_t v, double p) const { return (p > 0 ? q.upper[v] - q.d[v] : q.lower[v] - q.d[v]) / p; }
};

// Steps to the first bound until the conditions hold, or rounding ends them; the steps and the violation.
int64_t change_one_by_one(Solver& z, double& violation) {
  const ActiveSet& q = z.q;
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
      if (z.s.inside[v]) {
        low = minimum(low, g), high = maximum(high, g), sum += g;
      } else {
        if (up && g < join_rise) join_rise = g, riser = v;
        if (down && g > join_fall) join_fall = g, faller = v;
      }
    }
    violation = maximum(fall - rise, 0.0);
    if (violation <= q.goal || steps >= q.max_steps) return steps;
    if (z.n_free < 2 || high - low <= INNER_SHARE * q.goal || full_steps >= FULL_STEPS_MAX) {
      if (z.n_free == 0) {  // a pair
        if (z.factor.capacity < 2 || riser < 0 || faller < 0 || riser == faller) return steps;
        z.join(riser), z.join(faller);
      } else {
        const double offset = sum / double(z.n_free), above = join_fall - offset, below = offset - join_rise;
        const int64_t v = above > below ? faller : riser;
        if (z.full() || v < 0 || !(maximum(above, below) > INNER_SHARE * q.goal)) return steps;
        z.join(v);
      }
      full_steps = 0;
    }
    bool full = false;
    if (z.move(full)) {
      full_steps = full ? full_steps + 1 : 0;
    } else if (full_steps >= FULL_STEPS_MAX) {
      return steps;
    } else {
      full_steps = FULL_STEPS_MAX;
    }
  }
}

ActiveSetResult solve(const ActiveSet& q, const ActiveSetFactor& factor, const ActiveSetScratch& s) {
  Solver z{q, factor, s, factor.n_free};
  for (int64_t v = 0; v < q.variables; v++) s.inside[v] = 0;
  for (int64_t i = 0; i < z.n_free; i++) s.inside[factor.free[i]] = 1;
  z.adopt_free();
  if (q.blocks > 0) z.change_blocks();
  double violation = 0;
  const int64_t steps = change_one_by_one(z, violation);
  z.adopt_free();  // what joined and did not move
  return {steps, z.n_free, violation};
}

}  // namespace active_set_code

const ActiveSetTable active_set_table = {active_set_code::solve};

}  // namespace LEVEL
