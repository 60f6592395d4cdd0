// Platt's sigmoids (2000) of many problems, p(f) = 1 / (1 + exp(-(slope f + offset))).
//
// Each minimises the cross-entropy with Platt's targets t, by Newton's method with backtracking from slope 0, in the form
// of Lin, Lin & Weng (2007) that neither overflows nor loses digits:
//
//     sum_i w_i (log(1 + exp(-|z_i|)) + max(z_i, 0) - t_i z_i),      z_i = slope f_i + offset
//     t = (W+ + 1) / (W+ + 2) for positive rows,  1 / (W- + 2) for negative ones,      W = weights of the class
//
// Decision values are divided by their largest size first. A slope that is not positive becomes 0, with the offset of the
// mean target.
#pragma once
#include "core/levels.h"

constexpr int64_t SIGMOID_PADDING = 8;  // rows that scratch arrays have beyond those of the largest problem

struct SigmoidFits {
  const double *values, *weight;
  const bool* positive;
  const int64_t* starts;  // problem p has the rows starts[p]..starts[p + 1]
  int64_t problems;
  double *slope, *offset;       // of each problem; before it is done, those of scaled values
  int64_t* steps;               // Newton steps that a problem took so far; 0 at first
  double *f, *target, *scaled_weight;  // scratch memory: rows of the largest problem + SIGMOID_PADDING values each
};

struct SigmoidFitsTable {
  // Problems from `first` on, until about max_rows rows were evaluated; the problem to go on with.
  int64_t (*fit)(const SigmoidFits& fits, int64_t first, int64_t max_rows);
};
LEVEL_TABLE(SigmoidFitsTable, sigmoid_fits_table)
