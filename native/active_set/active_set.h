// A dense box-constrained quadratic program with one equality, by an active-set method that begins near the solution.
//
//     minimise 1/2 d'Qd + linear'd    subject to  lower <= d <= upper,  sum of d constant,    Q_uv = K[row_u, row_v]
//
// F are the free variables, R'R = Q_FF + ridge I their factor. A step goes along p_F = -(R'R)^-1 (g_F - offset), whose
// sum is zero, to the minimum along it or to the first bound, where a variable leaves F. At the minimum over F the
// variable at a bound whose gradient misses the conditions most joins. R gains a column, or loses one by plane rotations.
// Where Q_FF is singular the ridge makes p long along directions without curvature, and a bound ends the step.
#pragma once
#include "core/levels.h"

struct ActiveSet {
  const double* K;
  int64_t stride;
  const int64_t* row;  // of each variable
  const double *linear, *lower, *upper;
  int64_t variables, rows;
  double *d, *f;  // in and out: a feasible point, and K times the coefficients of the rows
  double goal, ridge;
  int64_t max_steps, max_free;
};

struct ActiveSetScratch {
  double* R;  // max_free rows of r_stride values
  int64_t r_stride;
  int64_t* free;                        // max_free
  uint8_t* inside;                      // variables: whether in F
  double *p, *forward, *ones, *change;  // max_free; change: rows
};

struct ActiveSetResult {
  int64_t steps;
  double violation;
};

struct ActiveSetTable {
  ActiveSetResult (*solve)(const ActiveSet& problem, const ActiveSetScratch& scratch);
};
LEVEL_TABLE(ActiveSetTable, active_set_table)
