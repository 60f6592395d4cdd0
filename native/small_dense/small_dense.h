// A small dual problem whose kernel values are stored, solved in one call.
//
//     minimise 1/2 a'Qa + linear'a    subject to  lower <= a <= upper,  sum of a over each group constant,
//     Q_uv = sign_u sign_v K[at[row_u], at[row_v]],      f = K c,   c_i = sum over u of row i of sign_u a_u
//
// Pair steps (pair_steps.h) run in double precision on all variables; f is then computed anew from a, and if rounding has
// left a violation above the goal, the steps go on, up to RENEWALS times. Without groups the offset is known to be zero:
// a slot of gradient zero and without bounds lets pairs move single variables.
#pragma once
#include "core/levels.h"
#include "pair_steps/pair_steps.h"

constexpr int SMALL_DENSE_RENEWALS = 4;

struct SmallDense {
  const double* K;
  int64_t stride;
  const int64_t* at;   // rows of K that the problem's rows stand for
  const int64_t* row;  // of each variable
  const double *sign, *linear, *lower, *upper;
  const int64_t* group;
  int64_t variables, rows, groups;
  bool in_place;  // Q is the first rows and columns of K, which has columns for whole slots, finite beyond Q
  double* a;      // in: a feasible start; out: the solution
  double* f;      // out
  double goal;
  int64_t max_steps;
};

// Memory to work in. A group's variables stand in slots one after the other (pair_steps.h).
struct SmallDenseScratch {
  int64_t size;             // slots of all groups
  double* Q;                // size * q_stride where not in place
  int64_t q_stride;
  int64_t *slot;            // variables
  int64_t *starts, *stops;  // max(1, groups)
  double *x, *low, *high, *g, *rise, *fall, *diagonal;  // size
  double* coef;             // rows
};

struct SmallDenseResult {
  int64_t steps;
  double violation;  // infinite where the last steps' result was not examined
};

struct SmallDenseTable {
  SmallDenseResult (*solve)(const SmallDense& problem, const SmallDenseScratch& scratch);
};
LEVEL_TABLE(SmallDenseTable, small_dense_table)
