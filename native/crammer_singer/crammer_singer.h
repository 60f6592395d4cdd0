// The joint multiclass dual of a working set, row by row (Crammer & Singer 2001; Keerthi et al. 2008).
//
// With all rows but i fixed, the row A_i solves
//
//     minimise  1/2 q |A_i|^2 + b'A_i     subject to  A_ik <= u_k,  sum_k A_ik = 0,      q = K_ii,  b = G_i - q A_i,
//
// u_k = bound_i for its label and 0 for all other classes: A_ik = min(u_k, (theta - b_k) / q), with the sum zero. That sum
// is a concave, rising function of theta; Newton's method from the left ends at its root after a few passes. The row of
// the largest violation max_k G_ik - min { G_ik : A_ik < u_k } is next.
#pragma once
#include "core/levels.h"

constexpr int64_t JOINT_PADDING = 8;  // rows are padded to a multiple of it

struct JointRows {
  const double* K;  // (rows, rows)
  double *G, *A;    // (rows, classes): the gradient, and the variables
  const int64_t* label;
  const double* bound;  // above 0; infinity for none
  int64_t rows, classes;
  // Scratch memory of classes * padded rows values: the gradient by classes, and 0 where a variable may rise or infinity.
  double *by_class, *rise;
  double *b, *row, *change;  // of one value per class each
};

struct CrammerSingerTable {
  // Rows are solved until no violation exceeds the goal, one does not move, or max_steps were taken; the steps taken.
  int64_t (*solve)(const JointRows& rows, double goal, int64_t max_steps);
};
LEVEL_TABLE(CrammerSingerTable, crammer_singer_table)
