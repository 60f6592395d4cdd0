// Sums of rows of a matrix, in float64. For level sources; see rows.h.
#pragma once
#include "core/simd.h"
#include "rows/rows.h"

namespace LEVEL {

// out += coef @ K[rows], four rows at a time: out is read and written once for four.
template <class T>
NOINLINE void add_rows(const Matrix<const T>& K, Indices rows, const double* coef, double* __restrict out, int64_t columns) {
  int64_t s = 0;
  for (; s + 4 <= rows.count; s += 4) {
    const T *a = K.data + rows.at[s] * K.row_stride, *b = K.data + rows.at[s + 1] * K.row_stride,
            *c = K.data + rows.at[s + 2] * K.row_stride, *d = K.data + rows.at[s + 3] * K.row_stride;
    const double x = coef[s], y = coef[s + 1], z = coef[s + 2], w = coef[s + 3];
    for (int64_t t = 0; t < columns; t++)
      out[t] += x * double(a[t]) + y * double(b[t]) + z * double(c[t]) + w * double(d[t]);
  }
  for (; s < rows.count; s++) {
    const T* a = K.data + rows.at[s] * K.row_stride;
    const double x = coef[s];
    for (int64_t t = 0; t < columns; t++) out[t] += x * double(a[t]);
  }
}

}  // namespace LEVEL
