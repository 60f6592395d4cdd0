// Scans that the checks of arguments need: do all values lie in a range, do offsets never fall?
#pragma once
#include "core/levels.h"

struct RangesTable {
  // Are all values in [0, bound)?
  bool (*within_i32)(const int32_t* values, int64_t count, int64_t bound);
  bool (*within_i64)(const int64_t* values, int64_t count, int64_t bound);
  // values[k] <= values[k + 1] for all k?
  bool (*monotone_i32)(const int32_t* values, int64_t count);
  bool (*monotone_i64)(const int64_t* values, int64_t count);
};
LEVEL_TABLE(RangesTable, ranges_table)
