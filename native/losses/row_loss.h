// One row's loss. For level sources.
#pragma once
#include "core/simd.h"
#include "losses/losses.h"

namespace LEVEL {

constexpr double INFINITE = __builtin_inf();
constexpr double HARD_SLACK = 1e-12;  // residual that a row of infinite weight may have: rounding of w'x + b

// How far r is outside the tube, with its sign; 0 inside.
INLINE double outside(double r, double eps) { return r > eps ? r - eps : (r < -eps ? r + eps : 0.0); }

// The weight of the side of r.
INLINE double side_weight(double out, double above, double below) { return out > 0.0 ? above : below; }

INLINE double row_loss(double out, double above, double below, bool squared) {
  if (out == 0.0) return 0.0;
  const double weight = side_weight(out, above, below), size = absolute(out);
  if (weight == 0.0) return 0.0;
  if (weight == INFINITE) return size > HARD_SLACK ? INFINITE : 0.0;
  return squared ? weight * size * size : weight * size;
}

// rho_i of the conjugate.
INLINE double row_ridge(double above, double below, bool squared) {
  const double weight = maximum(above, below);
  return squared && weight > 0.0 && weight < INFINITE ? 0.5 / weight : 0.0;
}

// beta_i of a residual (of a linear loss: at its kink the smaller one).
INLINE double row_derivative(double out, double above, double below, bool squared) {
  if (out == 0.0) return 0.0;
  const double weight = side_weight(out, above, below);
  if (squared) return 2.0 * weight * out;
  return out > 0.0 ? weight : -weight;
}

INLINE double after_step_of(double r, double beta, double above, double below, double eps, bool squared, double hard) {
  double step = maximum(above, below);
  if (step == 0.0) return 0.0;
  if (step == INFINITE) step = hard;
  if (squared) step *= 2.0;
  const double moved = outside((squared ? 0.0 : beta) + step * r, step * eps);
  const double up = squared ? (above > 0.0 ? INFINITE : 0.0) : above;
  const double down = squared ? (below > 0.0 ? -INFINITE : 0.0) : -below;
  return minimum(maximum(moved, down), up);
}

}  // namespace LEVEL
