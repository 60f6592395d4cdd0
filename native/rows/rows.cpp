#include "rows/rows.h"

#include "core/simd.h"
#include "rows/combine.h"

namespace LEVEL {

// A tile of both matrices fits into the first-level cache: 64 x 64 values of float64 are 32 kB.
constexpr int64_t TRANSPOSE_TILE_ROWS = 64;

template <class T>
void transpose(const Matrix<const T>& A, int64_t rows, int64_t columns, const Matrix<T>& out) {
  for (int64_t i0 = 0; i0 < rows; i0 += TRANSPOSE_TILE_ROWS) {
    const int64_t i1 = minimum(i0 + TRANSPOSE_TILE_ROWS, rows);
    for (int64_t k0 = 0; k0 < columns; k0 += TRANSPOSE_TILE_ROWS) {
      const int64_t k1 = minimum(k0 + TRANSPOSE_TILE_ROWS, columns);
      for (int64_t k = k0; k < k1; k++)
        for (int64_t i = i0; i < i1; i++) out.data[k * out.row_stride + i] = A.data[i * A.row_stride + k];
    }
  }
}

template <class T, class U>
void gather(const Matrix<const T>& K, Indices rows, Indices columns, const Matrix<U>& out) {
  for (int64_t s = 0; s < rows.count; s++) {
    const T* source = K.data + rows.at[s] * K.row_stride;
    U* target = out.data + s * out.row_stride;
    if (K.column_stride == 1)
      for (int64_t t = 0; t < columns.count; t++) target[t] = U(source[columns.at[t]]);
    else
      for (int64_t t = 0; t < columns.count; t++) target[t] = U(source[columns.at[t] * K.column_stride]);
  }
}

// Four sums hide the latency of an addition.
template <class T> double indexed_dot(const T* row, int64_t stride, Indices columns, const double* coef) {
  double sum[4] = {};
  int64_t t = 0;
  for (; t + 4 <= columns.count; t += 4)
    unrolled<4>([&](auto k) { sum[k] += coef[t + k] * double(row[columns.at[t + k] * stride]); });
  for (; t < columns.count; t++) sum[0] += coef[t] * double(row[columns.at[t] * stride]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class T>
void gather_product(const Matrix<const T>& K, Indices rows, Indices columns, const double* coef, double* out) {
  for (int64_t s = 0; s < rows.count; s++)
    out[s] = indexed_dot(K.data + rows.at[s] * K.row_stride, K.column_stride, columns, coef);
}

template <class T>
void add_columns(const Matrix<const T>& K, Indices columns, const double* coef, double* out, int64_t rows) {
  for (int64_t i = 0; i < rows; i++)
    out[i] += indexed_dot(K.data + i * K.row_stride, K.column_stride, columns, coef);
}

template <class T>
constexpr RowsFunctions<T> ROWS_FUNCTIONS = {transpose<T>,      gather<T, float>, gather<T, double>,
                                             gather_product<T>, add_rows<T>,      add_columns<T>};

const RowsTable rows_table = {ROWS_FUNCTIONS<float>, ROWS_FUNCTIONS<double>};

}  // namespace LEVEL
