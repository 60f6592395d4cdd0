// Second-order SMO on the matrix of a working set (Fan, Chen & Lin 2005).
//
//     minimise 1/2 a'Ka + p'a    subject to  lower <= a <= upper,  sum of a over each group constant,    g = Ka + p
//
// A step moves a_i += d, a_j -= d with i, j of one group:
//
//     i = argmin { g_u : a_u < upper_u },      j = argmax { (g_u - g_i)^2 / (K_ii + K_uu - 2 K_iu) : a_u > lower_u, g_u > g_i },
//     d = (g_j - g_i) / (K_ii + K_jj - 2 K_ij), cut at the bounds,
//
// in the group of the largest violation max { g_u : a_u > lower_u } - min { g_u : a_u < upper_u }, until none exceeds the
// goal. Of equal candidates the first is taken.
//
// Variables stand in slots: a group is a range of slots, padded to a multiple of SLOT_UNIT (on every level). `rise` is 0
// where a variable may rise and +PAIR_BARRIER where not, `fall` is 0 where it may fall and -PAIR_BARRIER where not: masks that
// cost one addition. Padding has both masks set, and finite entries in K.
#pragma once
#include "core/levels.h"

constexpr int64_t SLOT_UNIT = 32;  // float32 values in two of the widest registers, which a pass takes at a time
constexpr double PAIR_BARRIER = 1e30;

template <class T> struct PairProblem {
  const T* K;
  int64_t stride;  // of K's rows
  T* g;
  double* a;
  const double *lower, *upper;
  T *rise, *fall;
  const T* diagonal;
  const int64_t *starts, *stops;  // slots of each group
  int64_t groups;
};

template <class T> struct PairStepsFunctions {
  // Returns the steps taken. Below rounding, relative to its two diagonal entries, a curvature is unknown: a larger one
  // only shortens the step.
  int64_t (*solve_pairs)(const PairProblem<T>& problem, double goal, int64_t max_steps);
};
using PairStepsTable = BothPrecisions<PairStepsFunctions>;
LEVEL_TABLE(PairStepsTable, pair_steps_table)
