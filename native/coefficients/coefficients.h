// Coefficients of merged rows, distributed over the input rows that were merged.
//
// Equal rows were one variable, whose bound is the sum of theirs. Its coefficient goes to the first of them up to that
// row's own bound, then to the next, so that no more of them are support vectors than need be.
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
  const double* bounds;  // input rows x problems; 0 where unknown
  int64_t count;
};

struct CoefficientsTable {
  // before: one entry per merged row, zero: the share of the rows that had their turn.
  void (*distribute)(const MergedCoefficients& merged, const InputRows& rows, double* before, double* out);
};
LEVEL_TABLE(CoefficientsTable, coefficients_table)
