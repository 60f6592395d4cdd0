// Rows of a dense matrix of which only the entries of a row need lie side by side.
//
//     evaluate            F = K B + b, the losses there, and K'g, of one output in one pass over the rows
//     take                out = K[keep]
//     add_weighted        sums_j += sum_i w_i (x_ij - m_j), or of the squares
#pragma once
#include "smoothed_losses/smoothed_losses.h"

template <class T> struct RowMatrix {
  const T* data;
  int64_t rows, columns, stride;  // row i starts at data + i * stride
};

struct RowEvaluation {
  const double* B;  // null: F stays as it is
  double b;
  double* F;         // (rows, 1), also in LossRows
  double* g;         // (rows, 1)
  double* sums;      // see LossSum
  double* gradient;  // (sides, columns): of two sides, the first grows by K'g of the rows with g > 0, the other by the rest
  int64_t sides;
};

template <class T> struct StoredRowsFunctions {
  // Returns the number of rows with g != 0.
  int64_t (*evaluate)(const RowMatrix<T>& K, const SmoothedLoss& loss, const LossRows& rows,
                      const RowEvaluation& evaluation);
  void (*take)(const RowMatrix<T>& K, const int64_t* keep, int64_t count, T* out);
  void (*add_weighted)(const RowMatrix<T>& X, const double* w, const double* mean, bool squared, double* sums);
};
using StoredRowsTable = BothPrecisions<StoredRowsFunctions>;
LEVEL_TABLE(StoredRowsTable, stored_rows_table)
