// Row losses of linear models: piecewise linear or quadratic in the residual r_i = y_i - f_i - b, with a flat middle.
//
//     loss_i(r) = u_i phi(r - eps) + l_i phi(-r - eps),       phi(z) = max(0, z) or max(0, z)^2
//
// u_i is the weight above the tube, l_i below it: hinge (y_i = +1: u only, y_i = -1: l only, eps = 0), squared hinge,
// epsilon insensitive, its square, pinball. A squared loss has u_i = l_i, or one of them zero. Its conjugate, in terms of
// beta_i = d loss_i / d r, is  eps |beta| + rho_i beta^2 / 2  on [-l_i, u_i], with rho_i = 1 / (2 max(u_i, l_i)) and no
// bound for the square of a side that has weight, else rho_i = 0. An infinite weight forbids residuals on its side.
//
//     survey       sum loss_i(r_i); rows that are support vectors; of the positive and of the negative beta_i apart,
//                  sum (y_i - centre) beta_i - eps |beta_i|,  sum rho_i beta_i^2 / 2,  sum beta_i
//     derivative   beta_i of r_i, and its derivative theta_i (of squared losses)
//     slope        sum -u_i beta_i(r_i - t u_i), and its derivative in t: the losses along a direction u
//     after_step   beta_i after a proximal gradient step of length t_i = max(u_i, l_i), or `hard` where that is infinite
//                  (2 t_i for squared losses, where the step leads to beta_i(r_i)); returns how many are not zero
#pragma once
#include "core/levels.h"

struct LossesView {
  const double *y, *above, *below;
  double eps;
  bool squared;
  int64_t rows;
};
struct Survey {
  double losses, support;
  double linear_up, linear_down, square_up, square_down, total_up, total_down;
};

struct LossesTable {
  Survey (*survey)(const LossesView& P, const double* f, double b, const double* beta, double centre, double hard);
  void (*derivative)(const LossesView& P, const double* f, double b, double* beta, double* theta);
  void (*slope)(const LossesView& P, const double* r, const double* u, double t, double* slope, double* curvature);
  int64_t (*after_step)(const LossesView& P, const double* r, const double* beta, double hard, double* out);
};
LEVEL_TABLE(LossesTable, losses_table)
