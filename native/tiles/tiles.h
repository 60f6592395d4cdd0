// Kernel values of rows with packed columns, multiplied with coefficients or stored, in register tiles.
//
//     s_ij = u_i + v_j + sum_k a_ik b_jk         (DECAY: s_ij = u_i + v_j + sum_k |a_ik - b_jk|)
//     k_ij = function(s_ij)
//
// and, where u and v have a meaning of their own or none, k_ij = function(t_ij, u_i, v_j) with t_ij = sum_k a_ik b_jk, or
// sum_k (a_ik - b_jk)^2, which keeps the digits of small distances where a square root follows.
//
//     matvec    out_i += sum_j k_ij coef_j        no kernel value reaches memory; sums in float64
//     block     out_ij = k_ij
//     pack      rows of a matrix become columns of panels
//     decays    out_i = min(1, 2^-(rate s_i)): Gaussian kernels of several widths, from the same squared distances
//
// Points come scaled, so that the function is one of
//
//     EXP2     min(1, 2^s)                  RBF: a = sqrt(2 gamma log2(e)) x,  u = v = -|a|^2 / 2
//     POWER    s^degree                     polynomial and linear: a = sqrt(gamma) x,  u = coef0
//     TANH     tanh(s / (2 log2(e)))        sigmoid: a = sqrt(2 gamma log2(e)) x,  u = 2 log2(e) coef0
//     DECAY    min(1, 2^-s)                 Laplacian: a = gamma log2(e) x
//     MATERN   p(r) 2^-sqrt(t)              Matern: t of differences, a = sqrt(4 nu gamma) log2(e) x, r = sqrt(t) / log2(e),
//                                           p = 1, 1 + r, 1 + r + r^2 / 3 for degree = 2 nu = 1, 3, 5
//     RATIONAL (1 + t)^-degree              rational quadratic: t of differences, a = sqrt(gamma / alpha) x, degree = alpha
//     ANGLE    (u v)^n J_n(acos(t / uv)) / pi   arc-cosine of order n = degree: a = x, u = v = |a|
//     TANIMOTO t / (u + v - t)              a = x, u = v = |a|^2; 1 where both are zero
//
// 2^s is cut at 2^-100 in float32 and at 2^-1000 in float64. A value depends on its row and its column alone, and a sum on
// its row and the columns: bits do not change with how the rows are divided into calls.
#pragma once
#include "core/csr.h"
#include "core/levels.h"

enum TileKind {
  TILE_EXP2,
  TILE_POWER,
  TILE_TANH,
  TILE_DECAY,
  TILE_MATERN,
  TILE_RATIONAL,
  TILE_ANGLE,
  TILE_TANIMOTO
};
struct KernelForm {
  int kind;
  double degree;
};

// Dense rows: row i begins at A + i * stride.
template <class T> struct DenseRows {
  const T* A;
  int64_t stride;
  const T* u;
};
// Row t is row at[t] of a CSR matrix, with u[at[t]].
template <class T, class I> struct CsrRows {
  Csr<T, I> matrix;
  const int64_t* at;
  const T* u;
};
// Columns in panels of `panel_width` (which depends on the level): entry k of column t is P[t / width, k, t % width]. The
// last panel is filled up with zeros, and so is v.
template <class T> struct PackedColumns {
  const T* P;
  const T* v;
  int64_t count, d;
};
// Where values go: row i begins at data + i * stride.
template <class T> struct BlockOut {
  T* data;
  int64_t stride;
};

template <class T> struct TilesFunctions {
  int64_t panel_width;
  // coef has as many entries as the panels have columns; those beyond `count` are zero.
  void (*matvec_dense)(const DenseRows<T>& rows, const PackedColumns<T>& columns, KernelForm form, const T* coef,
                       double* out, int64_t start, int64_t stop);
  void (*block_dense)(const DenseRows<T>& rows, const PackedColumns<T>& columns, KernelForm form, BlockOut<T> out,
                      int64_t start, int64_t stop);
  void (*matvec_csr_i32)(const CsrRows<T, int32_t>& rows, const PackedColumns<T>& columns, KernelForm form,
                         const T* coef, double* out, int64_t start, int64_t stop);
  void (*matvec_csr_i64)(const CsrRows<T, int64_t>& rows, const PackedColumns<T>& columns, KernelForm form,
                         const T* coef, double* out, int64_t start, int64_t stop);
  void (*block_csr_i32)(const CsrRows<T, int32_t>& rows, const PackedColumns<T>& columns, KernelForm form,
                        BlockOut<T> out, int64_t start, int64_t stop);
  void (*block_csr_i64)(const CsrRows<T, int64_t>& rows, const PackedColumns<T>& columns, KernelForm form,
                        BlockOut<T> out, int64_t start, int64_t stop);
  // Column t is row at[t] (0 <= t < count) and v[t] its own_v[at[t]]; own_v may be null: zero. P and v are filled.
  void (*pack_dense)(const T* A, int64_t stride, int64_t d, const T* own_v, const int64_t* at, int64_t count, T* P,
                     T* v);
  void (*pack_csr_i32)(const Csr<T, int32_t>& matrix, const T* own_v, const int64_t* at, int64_t count, T* P, T* v);
  void (*pack_csr_i64)(const Csr<T, int64_t>& matrix, const T* own_v, const int64_t* at, int64_t count, T* P, T* v);
  void (*decays)(const T* s, int64_t count, T rate, T* out);
};
using TilesTable = BothPrecisions<TilesFunctions>;
LEVEL_TABLE(TilesTable, tiles_table)
