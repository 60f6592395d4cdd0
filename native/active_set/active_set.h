// A dense box-constrained quadratic program with one equality, by an active-set method that begins near the solution.
//
//     minimise 1/2 d'Qd + linear'd    subject to  lower <= d <= upper,  sum of d constant,    Q_uv = K[row_u, row_v]
//
// F are the free variables, R'R = Q_FF + ridge I their factor. A step goes along p_F = -(R'R)^-1 (g_F - offset), whose
// sum is zero, to the minimum along it or to the first bound, where a variable leaves F. At the minimum over F the
// variable at a bound whose gradient misses the conditions most joins. R gains a column, or loses one by plane rotations.
// Where Q_FF is singular the ridge makes p long along directions without curvature, and a bound ends the step.
//
// Before that, up to `blocks` turns change many variables at a time: whole steps p, after which all variables outside
// their bounds are set to them and leave F, until none is; then all variables that miss the conditions join. A turn that
// does not lower the objective is undone, and is the last.
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
  int64_t max_steps, blocks;
};

// F and its factor: what a call leaves, another with the same kernel values may begin with.
struct ActiveSetFactor {
  double* R;  // `capacity` rows of r_stride values
  int64_t r_stride;
  int64_t* free;  // the variables
  int64_t n_free, capacity;
};

struct ActiveSetScratch {
  uint8_t* inside;          // of each variable, whether it is in F
  double *p, *ones, *rest;  // capacity
  uint8_t* ends;            // capacity
  double *change, *best_f;  // rows
  double* best_d;           // variables
};

struct ActiveSetResult {
  int64_t steps, n_free;
  double violation;
};

struct ActiveSetTable {
  ActiveSetResult (*solve)(const ActiveSet& problem, const ActiveSetFactor& factor, const ActiveSetScratch& scratch);
};
LEVEL_TABLE(ActiveSetTable, active_set_table)
