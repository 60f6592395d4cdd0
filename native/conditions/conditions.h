// The optimality conditions of a dual problem, per group of variables tied by an equality; variables without one
// (group -1) form one more group at the end, whose offset is known to be zero.
#pragma once
#include "core/levels.h"

struct ConditionVariables {
  const double *gradient, *a, *lower, *upper;
  const int64_t* group;
  int64_t count;
};

// One entry per group, and one for the variables without.
struct ConditionSums {
  double *rise, *fall;         // smallest gradient that may rise, largest that may fall
  double *free_sum, *n_free;   // of the gradients of free variables, and their number
  double* total;               // sum of the variables
};

struct Slackness {
  double product;  // largest product of a multiplier and the slack of its constraint
  double outside;  // how far a variable is outside its bounds
};

struct ConditionsTable {
  void (*scan)(const ConditionVariables& x, int64_t groups, const ConditionSums& out);
  Slackness (*slackness)(const ConditionVariables& x, const double* offset);
};
LEVEL_TABLE(ConditionsTable, conditions_table)
