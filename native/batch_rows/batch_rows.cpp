#include "batch_rows/batch_rows.h"

#include "core/simd.h"

namespace LEVEL {

INLINE uint64_t mixed(int64_t column, double value) {
  uint64_t z;
  __builtin_memcpy(&z, &value, sizeof z);
  z ^= uint64_t(column + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <class T> void hash_dense(const T* X, int64_t rows, int64_t columns, uint64_t* out) {
  for (int64_t i = 0; i < rows; i++) {
    const T* x = X + i * columns;
    uint64_t sum = 0;
    for (int64_t k = 0; k < columns; k++) sum += x[k] != 0 ? mixed(k, double(x[k])) : 0;
    out[i] = sum;
  }
}

template <class T, class I> void hash_csr(const Csr<T, I>* X, uint64_t* out) {
  for (int64_t i = 0; i < X->rows; i++) {
    uint64_t sum = 0;
    for (int64_t e = X->indptr[i]; e < X->indptr[i + 1]; e++)
      sum += X->data[e] != 0 ? mixed(X->indices[e], double(X->data[e])) : 0;
    out[i] = sum;
  }
}

template <class T>
constexpr BatchRowsFunctions<T> BATCH_ROWS_FUNCTIONS = {hash_dense<T>, hash_csr<T, int32_t>, hash_csr<T, int64_t>};
const BatchRowsTable batch_rows_table = {BATCH_ROWS_FUNCTIONS<float>, BATCH_ROWS_FUNCTIONS<double>};

}  // namespace LEVEL
