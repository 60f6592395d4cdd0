// Sums over the coordinates that no matrix product gives.
//
//     s_ij = sum_k t(a_ik, b_jk),   t(a, b) = |a - b|              MANHATTAN
//                                             (a - b)^2 / (a + b)  CHI_SQUARED, with 0/0 = 0
//                                             min(a, b)            INTERSECTION
//
// The terms are symmetric, vanish at a = b = 0, and are added in the order of k, by dense and by sparse loops: their
// results, and s_ij and s_ji, agree to the last bit. Columns of sparse rows rise; the sparse loops of the last two
// terms rely on a, b >= 0.
#pragma once
#include "core/csr.h"
#include "core/levels.h"

enum CoordinateTerm : int { MANHATTAN, CHI_SQUARED, INTERSECTION, COORDINATE_TERMS };

struct DenseSums {
  const double *A, *B;  // (rows, columns) and (others, columns)
  int64_t rows, others, columns;
  double* out;  // out[i * stride + j] = s_ij
  int64_t stride;
  double* panel;  // scratch memory of columns * PANEL_MAX_LANES values
};
constexpr int64_t PANEL_MAX_LANES = 16;

template <class I> struct SparseSums {
  Csr<double, I> A, B;
  double* out;  // out[i * stride + j] = s_ij
  int64_t stride;
};

struct CoordinateSumsTable {
  void (*dense)(const DenseSums& sums, CoordinateTerm term);
  void (*sparse_i32)(const SparseSums<int32_t>& sums, CoordinateTerm term);
  void (*sparse_i64)(const SparseSums<int64_t>& sums, CoordinateTerm term);
};
LEVEL_TABLE(CoordinateSumsTable, coordinate_sums_table)
