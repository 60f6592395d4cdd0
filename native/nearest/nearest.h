// The nearest training points of each row, of all that were passed so far, from a tile of kernel values.
//
//     d_ij = k(x_i, x_i) + k(z_j, z_j) - 2 k(x_i, z_j),      with an error of rounding |k(x_i, x_i) + k(z_j, z_j)|
//
// A distance below its error is zero, if `clip`. Columns come in the order of their index, and one goes before another only
// if it is nearer by more than its error: equal ones stay in that order. Row i is not compared with point excluded + i.
#pragma once
#include "core/levels.h"

struct NearestTile {
  const double* K;  // (rows, columns)
  const double *k_xx, *k_zz;
  int64_t rows, columns;
  int64_t first;     // training point of the first column
  int64_t excluded;  // training point that is not a neighbour of the first row
  double rounding;
  bool clip;
  double* squares;  // (rows, count): the smallest d_ij so far, rising
  int64_t* indices;
  int64_t count;
};

struct NearestTable {
  void (*keep)(const NearestTile& tile);
};
LEVEL_TABLE(NearestTable, nearest_table)
