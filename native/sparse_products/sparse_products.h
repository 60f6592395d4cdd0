// Inner products of all rows of one sparse matrix with all rows of another, A B', as a dense matrix.
//
// Rows of B are taken a panel of SPARSE_PANEL_ROWS at a time. Their columns get lines of memory in the order in which they
// occur, each with the panel's entries of that column side by side; the other columns share line 0, which is zero. An entry
// of a row of A then meets the whole panel in one fused product, without a branch:
//
//     out[i, j] += a_ik line[place_k, j]        for the entries k of row i and all j of the panel
//
// Terms are added up in the order of the entries of row i.
#pragma once
#include "core/csr.h"
#include "core/levels.h"

constexpr int64_t SPARSE_PANEL_ROWS = 16;

// Memory to work in: `place` has one entry per column of the matrices, all 0 on entry and on return; `columns` has room for
// the columns of a panel, and `lines` for a line of SPARSE_PANEL_ROWS numbers for each of them and one more.
struct SparseProductsScratch {
  int32_t *place, *columns;
  double* lines;
};

template <class T> struct SparseProductsFunctions {
  // out is (A.rows, B.rows)
  void (*products32)(const Csr<T, int32_t>& A, const Csr<T, int32_t>& B, const SparseProductsScratch& s, double* out);
  void (*products64)(const Csr<T, int64_t>& A, const Csr<T, int64_t>& B, const SparseProductsScratch& s, double* out);
};
using SparseProductsTable = BothPrecisions<SparseProductsFunctions>;
LEVEL_TABLE(SparseProductsTable, sparse_products_table)
