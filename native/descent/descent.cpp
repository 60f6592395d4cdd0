#include "descent/descent.h"

#include "design/rows.h"
#include "losses/row_loss.h"

namespace LEVEL {

constexpr int HALVINGS = 6;         // of a step that leaves the box before it is given up
constexpr double SOLVED = 0.1;      // of the first residual: the free rows are about to change anyway
constexpr double NO_CURVATURE = 1e-14;

// A number below `count`, from a generator of Marsaglia (2003).
INLINE int64_t drawn(uint64_t& z, int64_t count) {
  z ^= z << 13;
  z ^= z >> 7;
  z ^= z << 17;
  return int64_t(((z >> 32) * uint64_t(count)) >> 32);
}

INLINE double pull_of(double beta, double g, double eps, double lower, double upper) {
  const double rising = g + eps, falling = g - eps;  // slopes of the objective to the right and to the left
  if (beta > 0.0) {
    if (beta >= upper) return rising;
    // without a tube a positive beta may still be at its lower bound
    return beta <= lower ? -rising : absolute(rising);
  }
  if (beta < 0.0) {
    if (beta <= lower) return -falling;
    return beta >= upper ? falling : absolute(falling);
  }
  const double up = upper > 0.0 ? -rising : -INFINITE, down = lower < 0.0 ? falling : -INFINITE;
  return maximum(up, down);
}

// What a row adds to the duality gap.
INLINE double share_of(double r, double beta, double ridge, double lower, double upper, double eps) {
  const double out = outside(r, eps);
  double loss = 0.0;
  if (out > 0.0 && upper > 0.0) loss = ridge > 0.0 ? 0.5 * out * out / ridge : upper * out;
  if (out < 0.0 && lower < 0.0) loss = ridge > 0.0 ? 0.5 * out * out / ridge : lower * out;
  return loss + eps * absolute(beta) + 0.5 * ridge * beta * beta - beta * r;
}

INLINE double relative_gap(double gap, double dual, double t) {
  if (t == 0.0) return dual > 0.0 ? gap / (dual + gap) : INFINITE;
  const double size = maximum(absolute(dual), absolute(dual + gap));
  return size > 0.0 ? gap / size : INFINITE;
}

template <class Rows>
int64_t sweep_rows(const Rows& X, DescentState& S, int64_t epochs, int64_t steps, double gap, double pull, bool shrinking) {
  const double rho = S.rho, eps = S.eps;
  int64_t done = 0;
  while (done < epochs && steps > 0) {
    const int64_t count = S.active;
    if (S.place == 0) {
      S.kept = 0;
      S.partial = S.pull = 0.0;
    }
    const int64_t stop = minimum(count, S.place + steps);
    steps -= stop - S.place;
    S.visits += stop - S.place;
    int64_t kept = S.kept;
    double missing = S.missing, dual = S.dual, partial = S.partial, largest = S.pull;
    // Rows are drawn one step ahead, so that they are in the cache when their turn comes.
    const auto draw = [&](int64_t t) {
      const int64_t at = t + drawn(S.seed, count - t), i = S.order[at];
      S.order[at] = S.order[t];
      S.order[t] = i;
      __builtin_prefetch(S.beta + i), __builtin_prefetch(S.q + i), __builtin_prefetch(S.y + i);
      __builtin_prefetch(S.lower + i), __builtin_prefetch(S.upper + i), __builtin_prefetch(S.ridge + i);
      X.prefetch(i);
      return i;
    };
    int64_t next = S.place < stop ? draw(S.place) : 0;
    for (int64_t t = S.place; t < stop; t++) {
      const int64_t i = next;
      if (t + 1 < stop) next = draw(t + 1);
      const double old = S.beta[i], ridge = S.ridge[i], lower = S.lower[i], upper = S.upper[i];
      const double f = X.dot(i, S.w), g = f + S.b0 + rho * missing - S.y[i] + ridge * old;
      const double pulled = pull_of(old, g, eps, lower, upper);
      if (shrinking && pulled < -S.limit) continue;
      S.order[t] = S.order[kept];
      S.order[kept++] = i;
      if (!(pulled > 0.0)) continue;
      largest = maximum(largest, pulled);
      partial += share_of(ridge * old - g, old, ridge, lower, upper, eps);
      const double q = S.q[i];
      const double moved = minimum(maximum(outside(old - g / q, eps / q), lower), upper), change = moved - old;
      if (change == 0.0) continue;
      S.beta[i] = moved;
      missing += change;
      dual += S.y[i] * change - eps * (absolute(moved) - absolute(old)) - change * (f + 0.5 * change * (q - rho - ridge)) -
              0.5 * ridge * (moved * moved - old * old);
      X.add(i, change, S.w);
    }
    S.missing = missing, S.dual = dual, S.partial = partial, S.pull = largest;
    S.place = stop, S.kept = kept;
    if (stop < count) return done;
    done++;
    S.active = kept, S.place = 0;
    S.limit = largest > 0.0 ? largest : INFINITE;
    if (S.free) {
      S.b0 += rho * missing;  // b0 <- b
      if (count == S.count) S.met = S.b0;
      partial += absolute(S.b0 * missing);
    } else {
      dual -= 0.5 * rho * missing * missing;
    }
    S.gap = relative_gap(partial, dual, S.t);
    if (S.gap <= gap || largest <= pull) return done;
    // Every slope has moved by as much as b0, and the rows that are left out may be needed again.
    if (S.free && kept < S.count && absolute(S.b0 - S.met) > largest) S.active = S.count, S.limit = INFINITE;
  }
  return done;
}
int64_t sweep(DescentState& S, int64_t epochs, int64_t steps, double gap, double pull, bool shrinking) {
  return with_rows(S.X, [&](auto X) { return sweep_rows(X, S, epochs, steps, gap, pull, shrinking); });
}

// out = Q p over the free rows, Q = X X' + rho 1 1' + ridge; v = X'p.
template <class Rows>
void product(const Rows& X, const DescentState& S, const int64_t* free, int64_t m, const double* p, double* v, double* out) {
  for (int64_t j = 0; j < S.X.columns; j++) v[j] = 0.0;
  double total = 0.0;
  for (int64_t k = 0; k < m; k++)
    if (p[k] != 0.0) X.add(free[k], p[k], v), total += p[k];
  for (int64_t k = 0; k < m; k++) out[k] = X.dot(free[k], v) + S.rho * total + S.ridge[free[k]] * p[k];
}
INLINE double inner(const double* a, const double* b, int64_t m) {
  double total = 0.0;
  for (int64_t k = 0; k < m; k++) total += a[k] * b[k];
  return total;
}

template <class Rows>
double free_step_rows(const Rows& X, DescentState& S, const int64_t* free, int64_t m, int64_t most, const FreeStepScratch& at) {
  double *g = at.g, *d = at.d, *r = at.r, *p = at.p, *q = at.q, *v = at.v;
  for (int64_t k = 0; k < m; k++) {
    const int64_t i = free[k];
    const double kink = S.eps * (S.beta[i] > 0.0 ? 1.0 : (S.beta[i] < 0.0 ? -1.0 : 0.0));
    g[k] = X.dot(i, S.w) + S.b0 + S.rho * S.missing - S.y[i] + S.ridge[i] * S.beta[i] + kink;
    d[k] = 0.0;
    r[k] = p[k] = -g[k];
  }
  const double first = inner(r, r, m);
  double size = first;
  for (int64_t step = 0; step < most && size > SOLVED * SOLVED * first; step++) {
    product(X, S, free, m, p, v, q);
    const double curvature = inner(p, q, m);
    if (!(curvature > NO_CURVATURE * inner(p, p, m))) break;
    const double length = size / curvature;
    for (int64_t k = 0; k < m; k++) d[k] += length * p[k], r[k] -= length * q[k];
    const double next = inner(r, r, m);
    for (int64_t k = 0; k < m; k++) p[k] = r[k] + next / size * p[k];
    size = next;
  }
  double t = 1.0;
  for (int halving = 0; halving < HALVINGS; halving++, t *= 0.5) {
    for (int64_t k = 0; k < m; k++) {
      const int64_t i = free[k];
      const double low = S.eps > 0.0 && S.beta[i] > 0.0 ? maximum(S.lower[i], 0.0) : S.lower[i];
      const double high = S.eps > 0.0 && S.beta[i] < 0.0 ? minimum(S.upper[i], 0.0) : S.upper[i];
      r[k] = minimum(maximum(S.beta[i] + t * d[k], low), high);  // the bound itself, not its neighbour
      p[k] = r[k] - S.beta[i];
    }
    product(X, S, free, m, p, v, q);
    const double change = inner(g, p, m) + 0.5 * inner(p, q, m);
    if (!(change < 0.0)) continue;
    for (int64_t k = 0; k < m; k++) {
      S.missing += p[k];
      S.beta[free[k]] = r[k];
    }
    for (int64_t j = 0; j < S.X.columns; j++) S.w[j] += v[j];
    return -change;
  }
  return 0.0;
}
double free_step(DescentState& S, const int64_t* free, int64_t count, int64_t most, const FreeStepScratch& scratch) {
  return with_rows(S.X, [&](auto X) { return free_step_rows(X, S, free, count, most, scratch); });
}

void combine(const RowsView& view, const int64_t* rows, int64_t count, const double* factors, double* out) {
  with_rows(view, [&](auto X) {
    for (int64_t k = 0; k < count; k++)
      if (factors[k] != 0.0) X.add(rows[k], factors[k], out);
  });
}

const DescentTable descent_table = {sweep, free_step, combine};

}  // namespace LEVEL
