#include "row_hashes/row_hashes.h"

#include "core/simd.h"

namespace LEVEL {

// 0 for a value of zero, so that the sum needs no branch and is formed in vectors.
INLINE uint64_t mixed(uint64_t column, double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  uint64_t z = bits ^ ((column + 1) * 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return value != 0.0 ? z : 0;
}

template <class T> void dense(const T* X, int64_t rows, int64_t columns, uint64_t* out) {
  for (int64_t i = 0; i < rows; i++) {
    const T* x = X + i * columns;
    uint64_t total = 0;
    for (int64_t k = 0; k < columns; k++) total += mixed(uint64_t(k), double(x[k]));
    out[i] = total;
  }
}

template <class T, class I> void csr(const Csr<T, I>& X, uint64_t* out) {
  for (int64_t i = 0; i < X.rows; i++) {
    uint64_t total = 0;
    for (I p = X.indptr[i]; p < X.indptr[i + 1]; p++) total += mixed(uint64_t(X.indices[p]), double(X.data[p]));
    out[i] = total;
  }
}

template <class T>
constexpr RowHashesFunctions<T> ROW_HASHES_FUNCTIONS = {dense<T>, csr<T, int32_t>, csr<T, int64_t>};

const RowHashesTable row_hashes_table = {ROW_HASHES_FUNCTIONS<float>, ROW_HASHES_FUNCTIONS<double>};

}  // namespace LEVEL
