// Which variables the next round of an active-set solver works on: passes over the gradients g of a dual problem with
// bounds and groups (each tied by one equality).
//
//     sides       of a group: the smallest g of a variable that may rise, the largest g of one that may fall; their
//                 difference is the group's violation, their middle the best estimate of its offset
//     excess      how far a variable is on the wrong side of its group's middle; negative: safely on the right one
//     choose      free variables of the last working set, then of each side its worst violators and others spread over
//                 all violators
#pragma once
#include "core/levels.h"

struct BoxVariables {
  const double *g, *a, *lower, *upper;
  const int64_t* group;
};
struct VariableList {
  const int64_t* ids;
  int64_t count;
};

struct ChooseRequest {
  VariableList candidates, previous;
  int64_t size;         // variables wanted
  const double* middle; // of each group
  int64_t groups;
  int64_t start;        // where among the violators the spread ones begin
};
struct ChooseScratch {
  uint8_t* taken;      // one per variable, zero
  double *key, *copy;  // one per candidate, and one more
  int64_t* at;         // as many
};

struct WorkingSetTable {
  // The largest violation of a group, over the listed variables. With zero_offset the offsets are known to be zero, so
  // that zero is on both sides. middle, rise and fall have one entry per group.
  double (*sides)(const BoxVariables& x, VariableList list, int64_t groups, bool zero_offset, double* middle,
                  double* rise, double* fall);
  void (*excess)(const BoxVariables& x, VariableList list, const double* middle, double* out);
  // Fills W, which has place for size + 2 groups; returns how many.
  int64_t (*choose)(const BoxVariables& x, const ChooseRequest& request, const ChooseScratch& scratch, int64_t* W);
};
LEVEL_TABLE(WorkingSetTable, working_set_table)
