#include "small_linear/small_linear.h"

#include "design/rows.h"
#include "interior/interior.h"
#include "losses/row_loss.h"
#include "small_linear/columns.h"

namespace LEVEL {

constexpr double TINY = 1e-300;

// The best points so far, and the records of the iterations.
struct BestPoints {
  const SmallLinear& p;
  double primal = INFINITE, dual = -INFINITE, b = 0.0;
  int64_t records = 0;

  // Factors of the positive and the negative multipliers that make their sum zero.
  void balance(double up, double down, double* plus, double* minus) const {
    down = absolute(down);
    *plus = *minus = 1.0;
    if (!p.free || up == down) return;
    if (up > 0.0) *plus = minimum(1.0, down / up);
    if (down > 0.0) *minus = minimum(1.0, up / down);
  }
  // Evaluate w, b, f and the multipliers, whose positive and negative parts have the sums up and down; whether it is the end.
  bool visit(const double* w, double at_b, const double* f, const double* beta, const double* up, const double* down) {
    const Survey s = losses_table.survey(p.losses, f, at_b, beta, p.centre, 1.0);
    double plus, minus, norm = 0.0, penalty = 0.0, dual_penalty = 0.0;
    balance(s.total_up, s.total_down, &plus, &minus);
    for (int64_t k = 0; k < p.stride; k++) {
      const double sum = plus * up[k] + minus * down[k];
      penalty += w[k] * w[k], dual_penalty += sum * sum;
      if (k < p.features) norm += w[k] * w[k];
    }
    const double now = 0.5 * penalty + s.losses;
    const double lower = plus * s.linear_up + minus * s.linear_down - plus * plus * s.square_up - minus * minus * s.square_down -
                         0.5 * dual_penalty;
    if (now < primal) {
      primal = now, b = at_b;
      for (int64_t k = 0; k < p.stride; k++) p.w[k] = w[k];
      for (int64_t i = 0; i < p.rows; i++) p.f[i] = f[i];
    }
    if (lower > dual) {
      dual = lower;
      for (int64_t i = 0; i < p.rows; i++) p.beta[i] = beta[i] * (beta[i] > 0.0 ? plus : minus);
    }
    double* record = p.records + SMALL_LINEAR_RECORD * records++;
    record[0] = now, record[1] = lower, record[2] = square_root(norm), record[3] = s.support;
    return primal - dual <= p.tol * maximum(absolute(primal), absolute(dual));
  }
};

// ---- squared losses: Newton's method
constexpr int SEARCH_MAX_STEPS = 60;
constexpr int INTERCEPT_MAX_STEPS = 20;  // two or three are usual
constexpr int PATIENCE = 5;  // steps without a lower objective

static double line_search(const LossesView& losses, const double* r, const double* u, double first, double second) {
  double low = 0.0, high = INFINITE, t = 1.0;
  for (int step = 0; step < SEARCH_MAX_STEPS; step++) {
    double slope, curvature;
    losses_table.slope(losses, r, u, t, &slope, &curvature);
    slope += first + t * second, curvature += second;
    if (slope == 0.0) break;
    (slope > 0.0 ? high : low) = t;
    double next = curvature > 0.0 ? t - slope / curvature : INFINITE;
    if (!(low < next && next < high)) next = high < INFINITE ? 0.5 * (low + high) : 2.0 * t;
    if (absolute(next - t) <= 1e-12 * t) return next;
    t = next;
  }
  return t;
}

static int64_t newton(const SmallLinear& p, BestPoints& best) {
  const int64_t n = p.rows, d = p.stride;
  double *f = p.vectors, *beta = f + n, *theta = beta + n, *up = theta + n, *down = up + n, *df = down + n, *r = df + n,
         *before = r + n, *change = before + n;
  double *w = p.columns, *border = w + d, *ups = border + d, *downs = ups + d, *dw = downs + d;
  for (int64_t k = 0; k < d; k++) w[k] = 0.0;
  for (int64_t k = 0; k < d * d; k++) p.M[k] = 0.0;
  for (int64_t i = 0; i < n; i++) f[i] = before[i] = 0.0;
  double b = p.free ? p.start : 0.0, lowest = INFINITE;
  for (int64_t iteration = 0, waited = 0;; iteration++) {
    losses_table.derivative(p.losses, f, b, beta, theta);
    int64_t used = 0, changed = 0;
    for (int64_t i = 0; i < n; i++) {
      up[i] = maximum(beta[i], 0.0), down[i] = minimum(beta[i], 0.0), change[i] = theta[i] - before[i];
      used += theta[i] != 0.0, changed += change[i] != 0.0;
    }
    double totals[3];
    sums_of<3>(p.Z, n, d, {theta, up, down}, {border, ups, downs}, totals);
    if (best.visit(w, b, f, beta, ups, downs) || iteration >= p.max_iter) return iteration;
    waited = best.records < 2 || best.primal < lowest ? 0 : waited + 1;
    lowest = best.primal;
    if (waited > PATIENCE) return iteration;
    if (2 * changed > used) {
      for (int64_t k = 0; k < d * d; k++) p.M[k] = 0.0;
      add_moments(p.Z, n, d, theta, p.M);
    } else {
      add_moments(p.Z, n, d, change, p.M);
    }
    for (int64_t i = 0; i < n; i++) before[i] = theta[i];
    const double corner = p.free ? totals[0] : 0.0, by_b = -(totals[1] + totals[2]);
    if (!factor_of(p.M, border, corner, d, p.factor)) return iteration;
    for (int64_t k = 0; k < d; k++)
      dw[k] = ups[k] + downs[k] - w[k] + (corner > 0.0 ? border[k] * (by_b / corner) : 0.0);
    solve_with(p.factor, d, dw);
    const double db = corner > 0.0 ? -(by_b + dot(border, dw, d)) / corner : 0.0;
    values_of(p.Z, n, d, dw, df);
    for (int64_t i = 0; i < n; i++) r[i] = p.losses.y[i] - f[i] - b, change[i] = df[i] + db;
    const double t = line_search(p.losses, r, change, dot(w, dw, d), dot(dw, dw, d));
    for (int64_t k = 0; k < d; k++) w[k] += t * dw[k];
    for (int64_t i = 0; i < n; i++) f[i] += t * df[i];
    b += t * db;
  }
}

// ---- the other losses: interior points
constexpr double INSIDE = 0.995;           // part of the way to the nearest bound that a step may go
constexpr double CENTRED = 1e-3;           // least product of a room and its multiplier, as a part of their mean
constexpr int SHORTEN_MAX_TIMES = 30;
constexpr double EVEN_TWO_SIDED = 5.0, EVEN_ONE_SIDED = 0.1;  // least products to begin with, in means of all

struct NormalSystem {
  const SmallLinear& p;
  const double* border;
  double tau;

  // dw and dlambda of a right-hand side, which dw holds.
  double solve(double* dw, double missing) const {
    if (p.free)
      for (int64_t k = 0; k < p.stride; k++) dw[k] += border[k] * (missing / tau);
    solve_with(p.factor, p.stride, dw);
    return p.free ? (missing + dot(border, dw, p.stride)) / tau : 0.0;
  }
};

static double mean_product(const InteriorState& S, double step, double* least) {
  const Products found = interior_table.products(S, step);
  *least = found.least;
  return found.total / maximum(found.count, 1.0);
}

static void begin_path(const SmallLinear& p, const InteriorState& S, double* lower, double* upper, double* linear, double offset) {
  const int64_t n = p.rows;
  bool two_sided = true;
  double up = 0.0, down = 0.0, size = 0.0, least;
  for (int64_t i = 0; i < n; i++) {
    const double above = p.losses.above[i], below = p.losses.below[i], y = p.losses.y[i], eps = p.losses.eps;
    two_sided = two_sided && above > 0.0 && below > 0.0;
    if (S.sides == 1) {
      lower[i] = -below, upper[i] = above, linear[i] = -y;
    } else {
      lower[i] = 0.0, upper[i] = above, linear[i] = eps - y;
      lower[n + i] = -below, upper[n + i] = 0.0, linear[n + i] = -eps - y;
    }
  }
  for (int64_t v = 0; v < S.sides * n; v++) {
    S.a[v] = lower[v] < 0.0 && upper[v] > 0.0 ? 0.0 : (upper[v] > 0.0 ? 0.5 * upper[v] : 0.5 * lower[v]);
    (S.a[v] > 0.0 ? up : down) += S.a[v];
  }
  double plus, minus;
  BestPoints{p}.balance(up, down, &plus, &minus);
  for (int64_t i = 0; i < n; i++) S.beta[i] = S.f[i] = 0.0;
  for (int64_t v = 0; v < S.sides * n; v++) {
    S.a[v] *= S.a[v] > 0.0 ? plus : minus;
    S.beta[v % n] += S.a[v];
    size += absolute(linear[v] - offset);
  }
  size /= double(S.sides * n);
  interior_table.begin(S, offset, size > 0.0 ? size : 1.0, two_sided);
  interior_table.even_out(S, (two_sided ? EVEN_TWO_SIDED : EVEN_ONE_SIDED) * mean_product(S, 0.0, &least), two_sided);
}

static int64_t interior_points(const SmallLinear& p, BestPoints& best) {
  const int64_t n = p.rows, d = p.stride, sides = p.losses.eps > 0.0 ? 2 : 1;
  double* next = p.vectors;
  const auto take = [&](int64_t count) {
    double* taken = next;
    next += count * n;
    return taken;
  };
  // p.losses.eps == 0 takes 1 + 3 + 1 + 9 of the vectors, a tube 1 + 6 + 2 + 18 less what both share
  double *lower = take(sides), *upper = take(sides), *linear = take(sides), *a = take(sides), *state = take(9 * sides);
  double *f = take(1), *beta = take(1), *q = take(1), *T = take(1), *up = take(1), *down = take(1), *predicted = take(1),
         *df = take(1), *ridge = take(1);
  double *w = p.columns, *border = w + d, *right = border + d, *ups = right + d, *downs = ups + d, *rest = downs + d,
         *fixed = rest + d, *slope = fixed + d, *dw = slope + d;
  for (int64_t i = 0; i < n; i++) ridge[i] = 0.0;
  for (int64_t k = 0; k < d; k++) w[k] = 0.0;
  const InteriorState S{n, sides, linear, lower, upper, ridge, a, state, beta, f};
  double offset = p.free ? -p.start : 0.0, least;
  begin_path(p, S, lower, upper, linear, offset);
  for (int64_t iteration = 0;; iteration++) {
    interior_table.weigh(S, 0, n, offset, q, T);
    double missing = 0.0;
    for (int64_t i = 0; i < n; i++) up[i] = maximum(beta[i], 0.0), down[i] = minimum(beta[i], 0.0), missing -= beta[i];
    double totals[4];
    sums_of<4>(p.Z, n, d, {T, q, up, down}, {border, right, ups, downs}, totals);
    if (best.visit(w, -offset, f, beta, ups, downs) || iteration >= p.max_iter) return iteration;
    for (int64_t k = 0; k < d * d; k++) p.M[k] = 0.0;
    add_moments(p.Z, n, d, T, p.M);
    const NormalSystem system{p, border, totals[0]};
    if (!factor_of(p.M, border, p.free ? system.tau : 0.0, d, p.factor)) return iteration;
    const double mu = mean_product(S, 0.0, &least);
    for (int64_t k = 0; k < d; k++) rest[k] = ups[k] + downs[k] - w[k], dw[k] = rest[k] + right[k];
    const double predictor = system.solve(dw, missing - totals[1]);
    values_of(p.Z, n, d, dw, predicted);
    const Blocked along = interior_table.predict(S, 0, n, predicted, predictor, up, down);
    double corrected_totals[2];
    sums_of<2>(p.Z, n, d, {up, down}, {fixed, slope}, corrected_totals);
    if (!(along.blocked < INFINITE)) return iteration;
    double length = minimum(1.0, 1.0 / maximum(along.blocked, TINY));
    const double reached = along.first + length * (along.second + length * along.third);
    double part = along.first > 0.0 ? minimum(1.0, maximum(0.0, reached / along.first)) : 0.0;
    const double target = mu * part * part * part;
    double dlambda = 0.0;
    // A corrected step that is blocked at once, or leads away, could do so for ever: Newton's own is taken instead.
    for (int corrected = 1; corrected >= 0; corrected--) {
      const double goal = corrected ? target : 0.5 * mu;
      const double* base = corrected ? fixed : right;
      for (int64_t k = 0; k < d; k++) dw[k] = rest[k] + base[k] + goal * slope[k];
      const double total = (corrected ? corrected_totals[0] : totals[1]) + goal * corrected_totals[1];
      dlambda = system.solve(dw, missing - total);
      values_of(p.Z, n, d, dw, df);
      const double blocked = interior_table.direct(S, 0, n, predicted, predictor, df, dlambda, goal, corrected);
      if (!(blocked < INFINITE) || dlambda - dlambda != 0.0) return iteration;
      length = minimum(1.0, INSIDE / maximum(blocked, TINY));
      double mean = mean_product(S, length, &least);
      for (int times = 1; times < SHORTEN_MAX_TIMES && least < CENTRED * mean; times++) {
        length *= 0.8;
        mean = mean_product(S, length, &least);
      }
      if (length >= 0.1 && (mean < mu || mu == 0.0)) break;
    }
    if (!interior_table.advance(S, df, length)) return iteration;
    for (int64_t k = 0; k < d; k++) w[k] += length * dw[k];
    offset += length * dlambda;
  }
}

// The best intercept of a squared loss for the values f: the root of the slope, which is piecewise linear.
static double best_intercept(const SmallLinear& p, double b) {
  double* r = p.vectors;
  for (int64_t i = 0; i < p.rows; i++) r[i] = p.losses.y[i] - p.f[i];
  for (int step = 0; step < INTERCEPT_MAX_STEPS; step++) {
    double slope, curvature;
    losses_table.slope(p.losses, r, nullptr, b, &slope, &curvature);
    if (!(curvature > 0.0)) break;
    const double next = b - slope / curvature;
    if (absolute(next - b) <= 1e-15 * absolute(b)) break;
    b = next;
  }
  return b;
}

static SmallLinearResult solve_small_linear(const SmallLinear& p) {
  BestPoints best{p};
  const int64_t iterations = p.losses.squared ? newton(p, best) : interior_points(p, best);
  if (p.free && p.losses.squared && best.records > 0) best.b = best_intercept(p, best.b);
  return {iterations, best.records, best.b, best.primal, best.dual};
}

// ---- the certificate
template <class Rows> LinearConditionsResult certify_rows(const Rows& X, const LinearConditions& p) {
  const int64_t n = p.X.rows, d = p.X.columns;
  const LossesView& L = p.losses;
  LinearConditionsResult out{};
  for (int64_t k = 0; k < d; k++) p.means[k] = p.sums[k] = 0.0;
  double losses = 0.0, up = 0.0, down = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double above = L.above[i], below = L.below[i], value = p.f[i] = X.dot(i, p.w);
    losses += row_loss(outside(L.y[i] - value - p.b, L.eps), above, below, L.squared);
    const double lower = L.squared ? (below > 0.0 ? -INFINITE : 0.0) : -below;
    const double upper = L.squared ? (above > 0.0 ? INFINITE : 0.0) : above;
    p.beta[i] = minimum(maximum(p.beta[i], lower), upper);
    (p.beta[i] > 0.0 ? up : down) += p.beta[i];
  }
  Rows centred = X;
  if constexpr (requires { X.shift; })
    if (p.free && n > 0) {  // a free intercept leaves w alone where every row is shifted by the means
      for (int64_t i = 0; i < n; i++) X.add(i, 1.0, p.means);
      for (int64_t k = 0; k < d; k++) p.means[k] /= double(n);
      centred.shift = p.means;
    }
  const double plus = p.free && up > -down ? -down / up : 1.0, minus = p.free && -down > up ? up / -down : 1.0;
  double total = 0.0, terms = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const double above = L.above[i], below = L.below[i], r = L.y[i] - p.f[i] - p.b;
    const double beta = p.beta[i] *= p.beta[i] > 0.0 ? plus : minus;
    const double size = (L.squared ? 2.0 : 1.0) * maximum(above, below), ridge = row_ridge(above, below, L.squared);
    total += beta, out.size += absolute(beta);
    terms += (L.y[i] - p.centre) * beta - L.eps * absolute(beta) - 0.5 * ridge * beta * beta;
    if (beta != 0.0) centred.add(i, beta, p.sums);
    const double target = after_step_of(r, beta, above, below, L.eps, L.squared, 1.0);
    p.support[i] = target != 0.0;
    if (size > 0.0) out.moved = maximum(absolute(target - beta) / size, out.moved);
    const double room = (beta > 0.0 ? L.eps - r : (beta < 0.0 ? L.eps + r : 0.0)) + ridge * absolute(beta);
    double product = absolute(beta) * (L.squared ? absolute(room) : maximum(room, 0.0));
    if (!L.squared)
      product = maximum(product, maximum(r - L.eps, 0.0) * (above - beta) + maximum(-r - L.eps, 0.0) * (beta + below));
    out.complementarity = maximum(product, out.complementarity);
  }
  double square = 0.0, dual_square = 0.0, apart = 0.0;
  for (int64_t k = 0; k < d; k++) {
    square += p.w[k] * p.w[k], dual_square += p.sums[k] * p.sums[k];
    apart += (p.w[k] - p.sums[k]) * (p.w[k] - p.sums[k]);
  }
  const double s = p.scaling, of_b = s > 0.0 ? p.b / s : 0.0;
  out.primal = 0.5 * square + 0.5 * of_b * of_b + losses;
  out.dual = terms - 0.5 * dual_square - 0.5 * s * s * total * total;
  out.in_w = square_root(apart), out.norm = square_root(square);
  out.in_b = p.free ? absolute(total) : (s > 0.0 ? absolute(of_b - s * total) : 0.0);
  return out;
}

static LinearConditionsResult certify(const LinearConditions& p) {
  return with_rows(p.X, [&](auto X) { return certify_rows(X, p); });
}

const SmallLinearTable small_linear_table = {solve_small_linear, certify};

}  // namespace LEVEL
