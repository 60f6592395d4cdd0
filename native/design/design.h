// Products with the rows x_i of a matrix X, in double precision whatever X holds: the arithmetic of linear models.
//
//     times      out_i = x_i'w
//     sums       out_jk += sum_i V_ki x_ij              (the last line of `out`, sums of V, is the caller's)
//     gram       out_jl += sum_i v_i x_ij x_il          j >= l, rows with v_i > 0; CSR with sorted indices
//     scaled     out_r. = sqrt(v_i) x_i                 rows with v_i > 0, one after the other; returns how many
//     squares    out_i = |x_i|^2,  or sum_j v_j x_ij^2
//
//     csc_cuts   cuts_tj = where in column j of a CSC matrix the rows from t * tile on begin
//     csc_tile   the rows from `first` on, between two lines of cuts, in CSR form with sorted indices
//
// A dense row is read as x_i - shift; CSR rows are read as they are.
#pragma once
#include "core/levels.h"

enum RowsForm { DENSE_F32, DENSE_F64, CSR_F32_I32, CSR_F64_I32, CSR_F32_I64, CSR_F64_I64 };

// X as plain data. CSR: indptr and indices of the form's index type. Dense: C order, `shift` of length `columns` or null.
struct RowsView {
  int form;
  const void *indptr, *indices, *data;
  const double* shift;
  int64_t rows, columns;
};


// A CSC matrix by its columns; rows in increasing order within each.
template <class I> struct CscView {
  const I *indptr, *rows;
  int64_t columns;
};
template <class T, class I> struct CsrTile {
  I *indptr, *indices;
  T* data;
  int64_t rows;
};
template <class T, class I>
using CscTileFunction = void (*)(const CscView<I>& X, const T* data, const int64_t* begin, const int64_t* end,
                                 int64_t first, const CsrTile<T, I>& tile);

struct DesignTable {
  void (*times)(const RowsView& X, const double* w, int64_t start, int64_t stop, double* out);
  void (*times_some)(const RowsView& X, const double* w, const int64_t* which, int64_t count, double* out);
  void (*sums)(const RowsView& X, const double* V, int64_t k, int64_t stride, int64_t start, int64_t stop, double* out);
  void (*gram)(const RowsView& X, const double* v, int64_t start, int64_t stop, double* out);
  int64_t (*scaled_f32)(const RowsView& X, const double* v, int64_t start, int64_t stop, float* out);
  int64_t (*scaled_f64)(const RowsView& X, const double* v, int64_t start, int64_t stop, double* out);
  void (*squares)(const RowsView& X, const double* v, int64_t start, int64_t stop, double* out);
  void (*csc_cuts_i32)(const CscView<int32_t>& X, int64_t tile, int64_t tiles, int64_t* cuts);
  void (*csc_cuts_i64)(const CscView<int64_t>& X, int64_t tile, int64_t tiles, int64_t* cuts);
  CscTileFunction<float, int32_t> csc_tile_f32_i32;
  CscTileFunction<double, int32_t> csc_tile_f64_i32;
  CscTileFunction<float, int64_t> csc_tile_f32_i64;
  CscTileFunction<double, int64_t> csc_tile_f64_i64;
};
LEVEL_TABLE(DesignTable, design_table)
