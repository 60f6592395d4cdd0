// Shapley values of f(x) = sum_i c_i k(x, x_i) where k is a product over the columns, or a power of a sum over them.
//
// A column that takes part has its value in x; one that does not has the background's value b, or, without a background,
// is left out of the kernel. With z_k and r_k for these two and an independent coin of probability t for each column, the
// Shapley value is the mean effect of column j over t (Owen's multilinear extension):
//
//     product   k = 2^-sum_k e_k:           phi_j = integral_0^1 (z_j - r_j) prod_{k != j} ((1 - t) r_k + t z_k) dt
//               e_k = s_k d^2 + a_k |d| + h_k d^2 / (x_k + x_ik),  d = x_k - x_ik;   z_k = 2^-e_k, r_k that of b (or 1)
//     power     k = (c + sum_k g_k x_k x_ik)^p = p! [s^p] e^(cs) prod_k e^(s u_k):   the same integral over power series,
//               z_k = e^(s u_k), u_k = g_k x_k x_ik, r_k that of b (or 1), of which the coefficient of s^p is taken
//
// The integrands are polynomials in t, of degree D - 1 for D columns with z_k != r_k, and p - 1: a Gauss-Legendre rule of
// half as many nodes is exact. For a product fewer do as well: with max(z_k, r_k) taken out of each factor, u_k = 1 -
// min(z_k, r_k) / max(z_k, r_k) and sigma = sum_k u_k, the rule of q nodes errs by less than
// (64/15) exp(sigma (cosh v - 1) / 2 - 2 q v) / (1 - e^-2v) of the integrand's maximum, for every v > 0. `limit` has the
// largest sigma for which that is no more than rounding.
//
// Anchors lie in panels of SHAPLEY_LANES, column by column. The factors of a panel and all backgrounds are computed once
// for SHAPLEY_ROWS rows; the values of a row depend on nothing but that row.
#pragma once
#include "core/levels.h"

constexpr int64_t SHAPLEY_LANES = 8;  // a multiple of every level's vectors of float64
constexpr int64_t SHAPLEY_NODES = 4;  // nodes that pass the columns together: rules have a multiple of them
constexpr int64_t SHAPLEY_ROWS = 32;  // rows that pass a panel together
constexpr int SHAPLEY_MAX_DEGREE = 12;

struct ShapleyRules {
  const double *node, *weight;  // of all rules, one after the other
  const int64_t* start;         // (count + 1)
  const double* limit;          // (count)
  int64_t count;
};

struct ShapleyProblem {
  const double* panel;        // (panels, columns, SHAPLEY_LANES)
  const double* coefficient;  // (panels, outputs, SHAPLEY_LANES), zero past the last anchor
  const double* background;   // (backgrounds, columns), or null: one background, in which columns are left out
  int64_t panels, columns, outputs, backgrounds;
};

struct ShapleyFactors {  // (columns) each, or null
  const double *square, *absolute, *chi_squared;
};

struct ShapleyPower {
  const double* scale;  // (columns)
  double constant;
  int degree;
};

// Memory to work in, in vectors of SHAPLEY_LANES: `sum` (SHAPLEY_ROWS, outputs, columns), `far` (backgrounds, columns, 2),
// `prefix` (columns, SHAPLEY_NODES), `near` (columns, 2), the others (columns); `active` has columns entries.
struct ShapleyScratch {
  double *sum, *far, *near, *prefix, *low, *step, *gain;
  int64_t* active;
};

struct ShapleyTable {
  // out (rows, outputs, columns) += weight * the sum over all backgrounds
  void (*product)(const ShapleyProblem&, const ShapleyFactors&, const ShapleyRules&, const double* x, int64_t rows,
                  double weight, ShapleyScratch, double* out);
  void (*power)(const ShapleyProblem&, const ShapleyPower&, const ShapleyRules&, const double* x, int64_t rows,
                double weight, ShapleyScratch, double* out);
};
LEVEL_TABLE(ShapleyTable, shapley_table)
