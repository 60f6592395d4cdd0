// A fitted function of one row or of a batch, for serving: float64, straight from the definitions.
//
//     f_t(x) = sum_i c_ti k(z_i, x) + b_t
//
//     LINEAR       f_t(x) = w_t'x + b_t               the rows of Z are the w_t, and there are no coefficients
//     RBF          k = 2^(-g |z - x|^2)               g = gamma log2(e)
//     LAPLACIAN    k = 2^(-g |z - x|_1)               g = gamma log2(e)
//     POLYNOMIAL   k = (g z'x + coef0)^degree         g = gamma
//     SIGMOID      k = tanh(g z'x + coef0)            g = gamma
//
// Distances are sums of differences of coordinates: no row is far from a centre, and no digit cancels. A row's values do
// not depend on the other rows of a batch.
//
// The coefficients of one-vs-one are kept as one_vs_one.h has them, k - 1 for each support vector instead of k (k - 1) / 2:
// kernel values first, then the values of all pairs.
//
// Sparse support vectors lie by columns, so that a sparse row x meets the entries of its own columns only:
//
//     z_i'x = sum over the columns k of x of z_ik x_k,     |z_i - x|^2 = |z_i|^2 + |x|^2 - 2 z_i'x, at least 0
//
// Dense support vectors z_i lie in panels of `width` columns, as in tiles.h; the last panel repeats zeros, and coefficients
// beyond the last support vector are zero.
#pragma once
#include "core/levels.h"

enum PredictorKind { PREDICT_LINEAR, PREDICT_RBF, PREDICT_LAPLACIAN, PREDICT_POLYNOMIAL, PREDICT_SIGMOID };

struct FittedFunction {
  int kind, degree;
  double g, coef0;
  int64_t d, panels, outputs;
  const double* Z;          // panels x d x width (LINEAR: outputs x d)
  const double* coef;       // outputs x (panels * width)
  const double* intercept;  // outputs
};

struct SparseAnchors {
  int kind, degree;  // all but LINEAR and LAPLACIAN
  double g, coef0;
  int64_t count, padded;  // support vectors; the same in whole vectors of the level
  const int64_t* start;   // of each column, one more than columns
  const int32_t* which;   // support vector of each entry
  const double* entries;
  const double* squares;  // |z_i|^2, padded with zeros
};
template <class I> struct SparseRow {
  const I* columns;
  const double* entries;
  int64_t count;
};

struct PredictorTable {
  int64_t width;       // columns of a panel
  int64_t sum_lanes;   // doubles of scratch memory that an output needs
  // out[i, t] = f_t(X[i]); `scratch` has outputs * sum_lanes values.
  void (*evaluate)(const FittedFunction& f, const double* X, int64_t rows, double* scratch, double* out);
  // K[i, s] = k(z_s, X[i]), panels * width values a row; not for LINEAR.
  void (*kernel_values)(const FittedFunction& f, const double* X, int64_t rows, double* K);
  // K[s] = k(z_s, x), padded.
  void (*sparse_values_i32)(const SparseAnchors& Z, const SparseRow<int32_t>& x, double* K);
  void (*sparse_values_i64)(const SparseAnchors& Z, const SparseRow<int64_t>& x, double* K);
};
LEVEL_TABLE(PredictorTable, predictor_table)
