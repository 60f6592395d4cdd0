#include "sparse_products/sparse_products.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int64_t P = SPARSE_PANEL_ROWS;
constexpr int VECTORS = int(P) / LANES<double>;

// The panel of rows first..first + width of B; returns how many columns have a line of their own.
template <class T, class I>
INLINE int32_t lay_out(const Csr<T, I>& B, int64_t first, int64_t width, const SparseProductsScratch& s) {
  int32_t used = 0;
  for (int64_t j = 0; j < width; j++)
    for (int64_t e = B.indptr[first + j]; e < B.indptr[first + j + 1]; e++) {
      int32_t& place = s.place[B.indices[e]];
      if (place == 0) {
        s.columns[used++] = int32_t(B.indices[e]), place = used;
        for (int64_t c = 0; c < P; c++) s.lines[place * P + c] = 0.0;
      }
      s.lines[place * P + j] += double(B.data[e]);
    }
  return used;
}

template <class T, class I>
void products(const Csr<T, I>& A, const Csr<T, I>& B, const SparseProductsScratch& s, double* out) {
  for (int64_t c = 0; c < P; c++) s.lines[c] = 0.0;
  for (int64_t first = 0; first < B.rows; first += P) {
    const int64_t width = minimum(P, B.rows - first);
    const int32_t used = lay_out(B, first, width, s);
    for (int64_t i = 0; i < A.rows; i++) {
      Vec<double> sum[VECTORS] = {};
      for (int64_t e = A.indptr[i]; e < A.indptr[i + 1]; e++) {
        const double x = double(A.data[e]);
        const double* line = s.lines + int64_t(s.place[A.indices[e]]) * P;
        unrolled<VECTORS>([&](auto k) { sum[k] += x * load(line + k * LANES<double>); });
      }
      double* to = out + i * B.rows + first;
      for (int k = 0; k < VECTORS; k++) {
        const int64_t left = width - k * LANES<double>;
        if (left >= LANES<double>)
          store(to + k * LANES<double>, sum[k]);
        else if (left > 0)
          store_first(to + k * LANES<double>, sum[k], left);
      }
    }
    for (int32_t t = 0; t < used; t++) s.place[s.columns[t]] = 0;
  }
}

template <class T>
constexpr SparseProductsFunctions<T> SPARSE_PRODUCTS_FUNCTIONS = {products<T, int32_t>, products<T, int64_t>};

const SparseProductsTable sparse_products_table = {SPARSE_PRODUCTS_FUNCTIONS<float>, SPARSE_PRODUCTS_FUNCTIONS<double>};

}  // namespace LEVEL
