// Stochastic sub-gradient steps for linear models, with w = s u and multipliers s v kept as a number times a vector.
//
// Step t with rows i of a batch of k, of length eta_t, S the sum of all rows' weights c_i (rows are drawn by weight):
//
//     beta_i = loss_i'(r_i) / c_i,   w <- (1 - eta) w + eta S / k sum_i beta_i x_i,   multipliers likewise
//
// The average of the iterates with weights 1, 2, 3, ... is formed lazily: with T = sum_t t s_t a change of u counts for what
// T gains afterwards, so sum_t t w_t = T u - late, late += T du. The norm of w may be limited to `radius`.
#pragma once
#include "design/design.h"
#include "losses/losses.h"

struct StepsState {
  RowsView X;
  LossesView losses;
  const double* weight;   // c_i
  const double* squares;  // |x_i|^2
  double total;           // S
  double rho;             // s^2 of a penalised intercept, else 0
  bool free;              // the intercept is stepped without shrinking
  double radius;
  double *u, *v, *late_u, *late_v, *sum_u, *sum_v;
  // t, s, T, |u|^2, sum of v (a penalised intercept is rho s times it), b if it is free
  double t, s, late, norm, sum, b;
};

struct StochasticTable {
  // hit is scratch of length `batch`. False where a number is no longer finite.
  bool (*steps)(StepsState& S, const int64_t* drawn, int64_t steps, int64_t batch, const double* eta, double* hit);
};
LEVEL_TABLE(StochasticTable, stochastic_table)
