// Products with the rows of a small matrix Z, and systems of the size of its columns. For level sources.
#pragma once
#include "core/simd.h"

namespace LEVEL {

INLINE double dot(const double* a, const double* b, int64_t n) {
  double sum = 0.0;
  for (int64_t k = 0; k < n; k++) sum += a[k] * b[k];
  return sum;
}

// out = sum of v_i z_i, of up to four vectors v at once; totals of v.
template <int COUNT>
INLINE void sums_of(const double* Z, int64_t rows, int64_t stride, const double* const (&v)[COUNT], double* const (&out)[COUNT],
                    double (&totals)[COUNT]) {
  for (int c = 0; c < COUNT; c++) {
    totals[c] = 0.0;
    for (int64_t k = 0; k < stride; k++) out[c][k] = 0.0;
  }
  for (int64_t i = 0; i < rows; i++)
    for (int c = 0; c < COUNT; c++) {
      const double value = v[c][i];
      if (value == 0.0) continue;
      totals[c] += value;
      const double* z = Z + i * stride;
      for (int64_t k = 0; k < stride; k++) out[c][k] += value * z[k];
    }
}

INLINE void values_of(const double* Z, int64_t rows, int64_t stride, const double* w, double* f) {
  for (int64_t i = 0; i < rows; i++) {
    constexpr int64_t UNIT = 8;  // partial sums side by side: the compiler may not reorder a single one
    double part[UNIT] = {};
    const double* z = Z + i * stride;
    for (int64_t k = 0; k < stride; k += UNIT)
      for (int64_t j = 0; j < UNIT; j++) part[j] += z[k + j] * w[k + j];
    f[i] = ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
  }
}

// The lower triangle of M += sum of t_i z_i z_i', four rows of weight not zero at a time.
INLINE void add_moments(const double* Z, int64_t rows, int64_t stride, const double* t, double* M) {
  constexpr int64_t UNIT = 8, ROWS = 4;
  const double* z[ROWS];
  double weight[ROWS];
  int64_t filled = 0;
  const auto add = [&] {
    for (int64_t j = 0; j < stride; j++) {
      const double a = weight[0] * z[0][j], b = weight[1] * z[1][j], c = weight[2] * z[2][j], d = weight[3] * z[3][j];
      double* out = M + j * stride;
      const int64_t last = (j / UNIT + 1) * UNIT;
      for (int64_t k = 0; k < last; k++) out[k] += (a * z[0][k] + b * z[1][k]) + (c * z[2][k] + d * z[3][k]);
    }
  };
  for (int64_t i = 0; i < rows; i++) {
    if (t[i] == 0.0) continue;
    z[filled] = Z + i * stride, weight[filled] = t[i];
    if (++filled < ROWS) continue;
    add();
    filled = 0;
  }
  if (filled == 0) return;
  for (int64_t k = filled; k < ROWS; k++) z[k] = z[0], weight[k] = 0.0;
  add();
}

// Cholesky factor of the lower triangle of I (1 + rounding) + M - v v' / corner (corner 0: without); false if there is none.
constexpr double MATRIX_ROUNDING = 1e-15;
INLINE bool factor_of(const double* M, const double* v, double corner, int64_t stride, double* L) {
  for (int64_t j = 0; j < stride; j++) {
    const double scaled = corner > 0.0 ? v[j] / corner : 0.0;
    for (int64_t k = 0; k <= j; k++) L[j * stride + k] = M[j * stride + k] - scaled * v[k];
    L[j * stride + j] += 1.0 + MATRIX_ROUNDING * L[j * stride + j];
  }
  for (int64_t j = 0; j < stride; j++) {
    double* row = L + j * stride;
    for (int64_t k = 0; k <= j; k++) {
      const double* other = L + k * stride;
      const double left = row[k] - dot(row, other, k);
      if (k < j)
        row[k] = left * other[k];  // the diagonal holds inverses
      else if (!(left > 0.0))
        return false;
      else
        row[j] = 1.0 / square_root(left);
    }
  }
  return true;
}
INLINE void solve_with(const double* L, int64_t stride, double* x) {
  for (int64_t j = 0; j < stride; j++) x[j] = (x[j] - dot(L + j * stride, x, j)) * L[j * stride + j];
  for (int64_t j = stride - 1; j >= 0; j--) {
    x[j] *= L[j * stride + j];
    for (int64_t k = 0; k < j; k++) x[k] -= x[j] * L[j * stride + k];
  }
}

}  // namespace LEVEL
