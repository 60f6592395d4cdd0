// Dual coordinate descent for up to LINE one-vs-rest problems at once, one per vector lane (see descent/descent.h).
//
// The problems share their CSR rows and differ in the signs of y. The weights of all lanes of a column stand side by side,
// one cache line of 64 bytes: W is (columns, L) with L = 16 (float32) or 8 (float64). For row i and lane l, y_l = +1 where
// l = lane_i, else -1; c_l = bound_i, times own_l where l = lane_i:
//
//     g_l = y_l (w_l'x_i + b_l + rho total_l) - 1 + r_l alpha_l,     r_l = 1 / 2 c_l (squared hinge) or 0
//     alpha_l <- clip(alpha_l - g_l / (|x_i|^2 + rho + r_l), 0, c_l),     w_l += y_l change_l x_i
//
// Rows without a change in `quiet_limit` visits are passed over, unless `every`. Lanes with awake_l = 0 stay as they are.
#pragma once
#include "design/design.h"

template <class W> struct LanesState {
  RowsView X;  // CSR
  const int64_t* lane;
  const W *squares, *bound, *own, *awake;
  bool squared;
  W rho;
  W *A, *weights, *b, *total;  // A is (rows, L)
  int32_t* quiet;
  int32_t quiet_limit;
};

template <class W> struct LanesFunctions {
  // One pass over `order`; how many rows were visited.
  int64_t (*sweep)(const LanesState<W>& S, const int64_t* order, int64_t count, bool every);
  // out_il = w_l'x_i for the rows from start to stop, out being (rows, L)
  void (*values)(const RowsView& X, const W* weights, int64_t start, int64_t stop, W* out);
  // out += sum_i x_i factors_i' over the same rows: out is (columns, L), factors are (rows, L)
  void (*sums)(const RowsView& X, const W* factors, int64_t start, int64_t stop, W* out);
  // out_l = |w_l|^2 in double precision
  void (*squares)(const W* weights, int64_t columns, double* out);
};
using LanesTable = BothPrecisions<LanesFunctions>;
LEVEL_TABLE(LanesTable, lanes_table)
