// Working-set steps on a dense block Q in double precision, for solvers that trade speed for plainness.
//
//     pairs         second-order SMO as in pair_steps.h, but variables need no slots: their groups may be mixed
//     coordinates   one variable at a time, where no equality ties them: the largest possible decrease first,
//                   d_i = clip(a_i - g_i / Q_ii, lower_i, upper_i) - a_i,   i = argmax of -(g_i d_i + 1/2 Q_ii d_i^2)
//
// Both stop when the violation (of the worst group; with a known offset of zero for coordinates) is at most the goal, and
// return the steps taken.
#pragma once
#include "core/levels.h"

struct BlockProblem {
  const double* Q;
  int64_t stride;
  double *g, *a;
  const double *lower, *upper;
  const int64_t* group;  // pairs only
  int64_t count, groups;
  double goal;
  int64_t max_steps;
};
struct BlockScratch {
  double *lowest, *highest;  // groups
  int64_t* first;            // groups
  double* diagonal;          // count
};

struct BlockStepsTable {
  int64_t (*pairs)(const BlockProblem& block, const BlockScratch& scratch);
  int64_t (*coordinates)(const BlockProblem& block);
};
LEVEL_TABLE(BlockStepsTable, block_steps_table)
