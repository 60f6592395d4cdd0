// C-SVC on kernel values held in float32, from one C of a path to the next.
//
//     minimise 1/2 a'Ka - y'a    subject to  sum a = 0,  0 <= y_i a_i <= bound_i,        a_i = y_i alpha_i,  f = Ka
//
// A solve alternates pair steps (pair_steps.h) on a set W, and f += K[:, W] change in double precision:
//
//     1. W is all rows, and K is used in place, while the violation is large;
//     2. then W holds the free variables and those near their conditions; its matrix is gathered once and grows with W.
//
// The stopping rule is m(a) - M(a) <= goal on f summed in double precision from float32 kernel values.
#pragma once
#include "core/levels.h"
#include "pair_steps/pair_steps.h"

struct PathProblem {
  const float* K;  // n rows, at least n columns padded to whole units; zero beyond column n
  int64_t stride, n;
  const double *y, *bound;
  double goal;
  int64_t max_steps;
};

// What moves, and what is kept for the next call with the same K: W[:*held] are the rows whose matrix is in the corner of
// M, which has m_rows rows and at least as many columns. W has m_rows entries.
struct PathState {
  double *a, *f;
  int64_t *W, *held;
  float* M;
  int64_t m_rows, m_stride;
};

struct PathScratch {
  uint8_t* inside;                                   // n
  double *lower, *upper, *change;                    // n
  int64_t* changed;                                  // n
  double *x, *low, *high;                            // n, padded to whole units
  float *g, *diagonal, *rise, *fall;                 // the same
};

struct PathResult {
  int64_t steps;
  double violation;
  double offset;  // -b: the mean of f - y over the free variables, or the middle of what the others allow
};

struct PathTable {
  PathResult (*advance)(const PathProblem& problem, const PathState& state, const PathScratch& scratch);
};
LEVEL_TABLE(PathTable, path_table)
