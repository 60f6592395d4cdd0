#include "losses/losses.h"

#include "losses/row_loss.h"

namespace LEVEL {

Survey survey(const LossesView& P, const double* f, double b, const double* beta, double centre, double hard) {
  Survey s{};
  for (int64_t i = 0; i < P.rows; i++) {
    const double above = P.above[i], below = P.below[i], r = P.y[i] - f[i] - b;
    s.losses += row_loss(outside(r, P.eps), above, below, P.squared);
    const double v = beta ? beta[i] : 0.0;
    s.support += after_step_of(r, v, above, below, P.eps, P.squared, hard) != 0.0 ? 1.0 : 0.0;
    const double linear = (P.y[i] - centre) * v - P.eps * absolute(v);
    const double square = 0.5 * row_ridge(above, below, P.squared) * v * v;
    if (v > 0.0)
      s.linear_up += linear, s.square_up += square, s.total_up += v;
    else
      s.linear_down += linear, s.square_down += square, s.total_down += v;
  }
  return s;
}

void derivative(const LossesView& P, const double* f, double b, double* beta, double* theta) {
  for (int64_t i = 0; i < P.rows; i++) {
    const double out = outside(P.y[i] - f[i] - b, P.eps);
    const double weight = side_weight(out, P.above[i], P.below[i]);
    beta[i] = row_derivative(out, P.above[i], P.below[i], P.squared);
    // without a tube a residual of exactly zero is curved on both sides
    const double curved = out != 0.0 ? weight : (P.eps == 0.0 ? minimum(P.above[i], P.below[i]) : 0.0);
    if (theta) theta[i] = P.squared ? 2.0 * curved : 0.0;
  }
}

void slope(const LossesView& P, const double* r, const double* u, double t, double* slope, double* curvature) {
  double first = 0.0, second = 0.0;
  for (int64_t i = 0; i < P.rows; i++) {
    const double along = u ? u[i] : 1.0, out = outside(r[i] - t * along, P.eps);
    if (out == 0.0) continue;
    first -= along * row_derivative(out, P.above[i], P.below[i], P.squared);
    if (P.squared) second += 2.0 * side_weight(out, P.above[i], P.below[i]) * along * along;
  }
  *slope = first;
  *curvature = second;
}

int64_t after_step(const LossesView& P, const double* r, const double* beta, double hard, double* out) {
  int64_t support = 0;
  for (int64_t i = 0; i < P.rows; i++) {
    out[i] = after_step_of(r[i], beta[i], P.above[i], P.below[i], P.eps, P.squared, hard);
    support += out[i] != 0.0;
  }
  return support;
}

const LossesTable losses_table = {survey, derivative, slope, after_step};

}  // namespace LEVEL
