// One variable at a time on a dense block Q in double precision, where no equality ties them: the largest decrease first,
//
//     d_i = clip(a_i - g_i / Q_ii, lower_i, upper_i) - a_i,   i = argmax of -(g_i d_i + 1/2 Q_ii d_i^2)
//
// until the violation, with a known offset of zero, is at most the goal; returns the steps taken.
#pragma once
#include "core/levels.h"

struct BlockProblem {
  const double* Q;
  int64_t stride;
  double *g, *a;
  const double *lower, *upper;
  int64_t count;
  double goal;
  int64_t max_steps;
};
struct BlockStepsTable {
  int64_t (*coordinates)(const BlockProblem& block);
};
LEVEL_TABLE(BlockStepsTable, block_steps_table)
