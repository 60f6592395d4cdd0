// One row at a time, dense and CSR alike: x_i'u and u += factor x_i. For level sources.
#pragma once
#include "core/simd.h"
#include "design/design.h"

namespace LEVEL {

// As many values of T as a register holds doubles, as doubles.
template <class T> struct Halves;
template <> struct Halves<float> {
  typedef float Vector __attribute__((vector_size(REGISTER_BYTES / 2)));
};
INLINE Vec<double> load_doubles(const double* p) { return load(p); }
INLINE Vec<double> load_doubles(const float* p) {
  Halves<float>::Vector v;
  __builtin_memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Vec<double>);
}

constexpr int64_t LINE_BYTES = 64;            // of the cache
constexpr int64_t PREFETCH_MAX_BYTES = 2048;  // of a row: the processor itself goes on with longer ones

template <class T> struct DenseRows {
  const T* data;
  int64_t columns;
  const double* shift;

  const T* row(int64_t i) const { return data + i * columns; }

  template <bool SHIFTED> INLINE double product(const T* x, const double* u) const {
    constexpr int64_t L = LANES<double>;
    Vec<double> sums[4] = {};
    int64_t j = 0;
    for (; j + 4 * L <= columns; j += 4 * L)
      unrolled<4>([&](auto k) {
        Vec<double> v = load_doubles(x + j + k * L);
        if constexpr (SHIFTED) v -= load(shift + j + k * L);
        sums[k] += v * load(u + j + k * L);
      });
    for (; j + L <= columns; j += L) {
      Vec<double> v = load_doubles(x + j);
      if constexpr (SHIFTED) v -= load(shift + j);
      sums[0] += v * load(u + j);
    }
    double total = sum_of<double>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; j < columns; j++) total += (SHIFTED ? double(x[j]) - shift[j] : double(x[j])) * u[j];
    return total;
  }
  void prefetch(int64_t i) const {
    const int64_t bytes = minimum(columns * int64_t(sizeof(T)), PREFETCH_MAX_BYTES);
    const char* at = reinterpret_cast<const char*>(row(i));
    for (int64_t k = 0; k < bytes; k += LINE_BYTES) __builtin_prefetch(at + k);
  }
  double dot(int64_t i, const double* u) const {
    return shift ? product<true>(row(i), u) : product<false>(row(i), u);
  }
  void add(int64_t i, double factor, double* __restrict u) const {
    const T* x = row(i);
    if (shift)
      for (int64_t j = 0; j < columns; j++) u[j] += factor * (double(x[j]) - shift[j]);
    else
      for (int64_t j = 0; j < columns; j++) u[j] += factor * double(x[j]);
  }
};

template <class T, class I> struct CsrRows {
  const I *indptr, *indices;
  const T* data;

  void prefetch(int64_t i) const {
    const int64_t start = indptr[i], stop = minimum(int64_t(indptr[i + 1]), start + PREFETCH_MAX_BYTES / int64_t(sizeof(T)));
    for (int64_t p = start; p < stop; p += LINE_BYTES / int64_t(sizeof(T))) __builtin_prefetch(data + p);
    for (int64_t p = start; p < stop; p += LINE_BYTES / int64_t(sizeof(I))) __builtin_prefetch(indices + p);
  }
  double dot(int64_t i, const double* u) const {
    const int64_t stop = indptr[i + 1];
    int64_t p = indptr[i];
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    for (; p + 4 <= stop; p += 4) {
      a += double(data[p]) * u[indices[p]];
      b += double(data[p + 1]) * u[indices[p + 1]];
      c += double(data[p + 2]) * u[indices[p + 2]];
      d += double(data[p + 3]) * u[indices[p + 3]];
    }
    for (; p < stop; p++) a += double(data[p]) * u[indices[p]];
    return (a + b) + (c + d);
  }
  void add(int64_t i, double factor, double* u) const {
    for (int64_t p = indptr[i]; p < int64_t(indptr[i + 1]); p++) u[indices[p]] += factor * double(data[p]);
  }
};

template <class T> INLINE DenseRows<T> dense_rows(const RowsView& X) {
  return {static_cast<const T*>(X.data), X.columns, X.shift};
}
template <class T, class I> INLINE CsrRows<T, I> csr_rows(const RowsView& X) {
  return {static_cast<const I*>(X.indptr), static_cast<const I*>(X.indices), static_cast<const T*>(X.data)};
}

// f(rows) with the rows in the form that they have.
template <class F> INLINE auto with_csr_rows(const RowsView& X, F&& f) {
  switch (X.form) {
    case CSR_F32_I32: return f(csr_rows<float, int32_t>(X));
    case CSR_F64_I32: return f(csr_rows<double, int32_t>(X));
    case CSR_F32_I64: return f(csr_rows<float, int64_t>(X));
    default: return f(csr_rows<double, int64_t>(X));
  }
}
template <class F> INLINE auto with_rows(const RowsView& X, F&& f) {
  switch (X.form) {
    case DENSE_F32: return f(dense_rows<float>(X));
    case DENSE_F64: return f(dense_rows<double>(X));
    default: return with_csr_rows(X, static_cast<F&&>(f));
  }
}

}  // namespace LEVEL
