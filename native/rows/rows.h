// Rows and entries of dense matrices: rearranged, and combined into sums.
//
//     transpose         out_kj = A_jk
//     gather            out_st = K[rows_s, cols_t]
//     gather_product    out_s  = sum_t K[rows_s, cols_t] coef_t
//     add_rows          out_t += sum_s coef_s K[rows_s, t]
//     add_columns       out_i += sum_t K[i, cols_t] coef_t
//
// Sums are in float64, whatever K is.
#pragma once
#include "core/levels.h"

// Entry (i, j) is data[i * row_stride + j * column_stride].
template <class T> struct Matrix {
  T* data;
  int64_t row_stride, column_stride;
};
struct Indices {
  const int64_t* at;
  int64_t count;
};

template <class T> struct RowsFunctions {
  // The entries of a row are contiguous in both matrices.
  void (*transpose)(const Matrix<const T>& A, int64_t rows, int64_t columns, const Matrix<T>& out);
  void (*gather_single)(const Matrix<const T>& K, Indices rows, Indices columns, const Matrix<float>& out);
  void (*gather_double)(const Matrix<const T>& K, Indices rows, Indices columns, const Matrix<double>& out);
  void (*gather_product)(const Matrix<const T>& K, Indices rows, Indices columns, const double* coef, double* out);
  // The entries of a row are contiguous.
  void (*add_rows)(const Matrix<const T>& K, Indices rows, const double* coef, double* out, int64_t columns);
  void (*add_columns)(const Matrix<const T>& K, Indices columns, const double* coef, double* out, int64_t rows);
};
using RowsTable = BothPrecisions<RowsFunctions>;
LEVEL_TABLE(RowsTable, rows_table)
