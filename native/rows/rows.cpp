#include "rows/rows.h"

#include "core/simd.h"

namespace LEVEL {

// A tile of both matrices fits into the first-level cache: 64 x 64 values of float64 are 32 kB.
constexpr int64_t TRANSPOSE_TILE_ROWS = 64;

template <class T> void transpose(const T* A, int64_t rows, int64_t columns, T* out) {
  for (int64_t i0 = 0; i0 < rows; i0 += TRANSPOSE_TILE_ROWS) {
    const int64_t i1 = minimum(i0 + TRANSPOSE_TILE_ROWS, rows);
    for (int64_t k0 = 0; k0 < columns; k0 += TRANSPOSE_TILE_ROWS) {
      const int64_t k1 = minimum(k0 + TRANSPOSE_TILE_ROWS, columns);
      for (int64_t k = k0; k < k1; k++)
        for (int64_t i = i0; i < i1; i++) out[k * rows + i] = A[i * columns + k];
    }
  }
}

template <class T> constexpr RowsFunctions<T> ROWS_FUNCTIONS = {transpose<T>};

const RowsTable rows_table = {ROWS_FUNCTIONS<float>, ROWS_FUNCTIONS<double>};

}  // namespace LEVEL
