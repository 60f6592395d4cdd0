// Coefficients of merged rows, distributed over the input rows that were merged.
//
// Equal rows were one variable, whose bound is the sum of theirs. Its coefficient c goes to the first of them up to that
// row's own bound, then to the next, so that no more of them are support vectors than need be:
//
//     c_s = sign(c) min(bound_s, max(0, |c| - bound_1 - ... - bound_(s-1))).
//
// Bounds come as parts of the sum. No coefficient is too small: the parts' sum is c up to rounding, relative to c. Where c
// is at its bound all rows are at theirs, and a row at its bound is exactly there.
#pragma once
#include "core/levels.h"

struct MergedCoefficients {
  const double* coefficients;  // merged rows x problems
  const double* filled;        // of the same shape: the part of its bound that each takes up; 0 where there is no bound
  int64_t rows, problems;
};
struct InputRows {
  const int64_t* of;     // the merged row of each
  const double* share;   // the part of that row's weight that each brings
  const double* bounds;  // input rows x problems; 0 or NaN where unknown
  int64_t count;
};
// Of each merged row, zero at first: the share of the rows that had their turn, and their number.
struct DistributedShare {
  double before;
  int64_t rows;
};

struct CoefficientsTable {
  void (*distribute)(const MergedCoefficients& merged, const InputRows& rows, DistributedShare* done, double* out);
};
LEVEL_TABLE(CoefficientsTable, coefficients_table)
