#include "design/design.h"

#include "design/rows.h"

namespace LEVEL {

void times(const RowsView& X, const double* w, int64_t start, int64_t stop, double* out) {
  with_rows(X, [&](auto rows) {
    for (int64_t i = start; i < stop; i++) out[i - start] = rows.dot(i, w);
  });
}

void times_some(const RowsView& X, const double* w, const int64_t* which, int64_t count, double* out) {
  with_rows(X, [&](auto rows) {
    for (int64_t k = 0; k < count; k++) out[k] = rows.dot(which[k], w);
  });
}

// ---- sums: K vectors at a time; dense columns by register blocks, each summed over the rows in their order
template <int K, class T>
void dense_sums(const DenseRows<T>& rows, const double* V, int64_t stride, int64_t start, int64_t stop, int64_t line,
                double* out) {
  constexpr int64_t L = LANES<double>;
  const int64_t d = rows.columns, n = stop - start;
  int64_t j = 0;
  for (; j + L <= d; j += L) {
    Vec<double> total[K] = {};
    const Vec<double> moved = rows.shift ? load(rows.shift + j) : Vec<double>{};
    for (int64_t i = 0; i < n; i++) {
      const Vec<double> x = load_doubles(rows.row(start + i) + j) - moved;
      unrolled<K>([&](auto k) { total[k] += V[k * stride + i] * x; });
    }
    for (int k = 0; k < K; k++)
      for (int64_t l = 0; l < L; l++) out[(j + l) * line + k] += total[k][l];
  }
  for (; j < d; j++) {
    double total[K] = {};
    const double moved = rows.shift ? rows.shift[j] : 0.0;
    for (int64_t i = 0; i < n; i++) {
      const double x = double(rows.row(start + i)[j]) - moved;
      unrolled<K>([&](auto k) { total[k] += V[k * stride + i] * x; });
    }
    for (int k = 0; k < K; k++) out[j * line + k] += total[k];
  }
}
template <int K, class T, class I>
void sparse_sums(const CsrRows<T, I>& rows, const double* V, int64_t stride, int64_t start, int64_t stop, int64_t line,
                 double* out) {
  for (int64_t i = start; i < stop; i++) {
    double v[K];
    bool used = false;
    for (int k = 0; k < K; k++) v[k] = V[k * stride + (i - start)], used |= v[k] != 0.0;
    if (!used) continue;
    for (int64_t p = rows.indptr[i]; p < int64_t(rows.indptr[i + 1]); p++) {
      double* place = out + int64_t(rows.indices[p]) * line;
      for (int k = 0; k < K; k++) place[k] += v[k] * double(rows.data[p]);
    }
  }
}
template <int K, class T>
INLINE void sums_of(const DenseRows<T>& r, const double* V, int64_t s, int64_t a, int64_t b, int64_t l, double* o) {
  dense_sums<K>(r, V, s, a, b, l, o);
}
template <int K, class T, class I>
INLINE void sums_of(const CsrRows<T, I>& r, const double* V, int64_t s, int64_t a, int64_t b, int64_t l, double* o) {
  sparse_sums<K>(r, V, s, a, b, l, o);
}
void sums(const RowsView& X, const double* V, int64_t k, int64_t stride, int64_t start, int64_t stop, double* out) {
  with_rows(X, [&](auto rows) {
    int64_t done = 0;
    for (; done + 4 <= k; done += 4) sums_of<4>(rows, V + done * stride, stride, start, stop, k, out + done);
    for (; done + 2 <= k; done += 2) sums_of<2>(rows, V + done * stride, stride, start, stop, k, out + done);
    for (; done < k; done++) sums_of<1>(rows, V + done * stride, stride, start, stop, k, out + done);
  });
}

// ---- second moments
void gram(const RowsView& X, const double* v, int64_t start, int64_t stop, double* out) {
  const int64_t d = X.columns;
  with_csr_rows(X, [&](auto rows) {
    for (int64_t i = start; i < stop; i++) {
      if (!(v[i - start] > 0.0)) continue;
      const int64_t first = rows.indptr[i], last = rows.indptr[i + 1];
      for (int64_t p = first; p < last; p++) {
        const double scaled = v[i - start] * double(rows.data[p]);
        double* line = out + int64_t(rows.indices[p]) * d;
        for (int64_t q = first; q <= p; q++) line[rows.indices[q]] += scaled * double(rows.data[q]);
      }
    }
  });
}

template <class T, class Out>
int64_t scaled_rows(const DenseRows<T>& rows, const double* v, int64_t start, int64_t stop, int64_t d, Out* out) {
  int64_t count = 0;
  for (int64_t i = start; i < stop; i++) {
    if (!(v[i - start] > 0.0)) continue;
    const double root = square_root(v[i - start]);
    const T* x = rows.row(i);
    Out* line = out + count++ * d;
    if (rows.shift)
      for (int64_t j = 0; j < d; j++) line[j] = Out(root * (double(x[j]) - rows.shift[j]));
    else
      for (int64_t j = 0; j < d; j++) line[j] = Out(root * double(x[j]));
  }
  return count;
}
template <class T, class I, class Out>
int64_t scaled_rows(const CsrRows<T, I>& rows, const double* v, int64_t start, int64_t stop, int64_t d, Out* out) {
  int64_t count = 0;
  for (int64_t i = start; i < stop; i++) {
    if (!(v[i - start] > 0.0)) continue;
    const double root = square_root(v[i - start]);
    Out* line = out + count++ * d;
    for (int64_t j = 0; j < d; j++) line[j] = Out(0);
    for (int64_t p = rows.indptr[i]; p < int64_t(rows.indptr[i + 1]); p++)
      line[rows.indices[p]] += Out(root * double(rows.data[p]));
  }
  return count;
}
template <class Out>
int64_t scaled(const RowsView& X, const double* v, int64_t start, int64_t stop, Out* out) {
  return with_rows(X, [&](auto rows) { return scaled_rows(rows, v, start, stop, X.columns, out); });
}

template <class T>
double square_of(const DenseRows<T>& rows, int64_t i, const double* v) {
  const T* x = rows.row(i);
  double total = 0.0;
  for (int64_t j = 0; j < rows.columns; j++) {
    const double value = rows.shift ? double(x[j]) - rows.shift[j] : double(x[j]);
    total += value * value * (v ? v[j] : 1.0);
  }
  return total;
}
template <class T, class I> double square_of(const CsrRows<T, I>& rows, int64_t i, const double* v) {
  double total = 0.0;
  for (int64_t p = rows.indptr[i]; p < int64_t(rows.indptr[i + 1]); p++)
    total += double(rows.data[p]) * double(rows.data[p]) * (v ? v[rows.indices[p]] : 1.0);
  return total;
}
void squares(const RowsView& X, const double* v, int64_t start, int64_t stop, double* out) {
  with_rows(X, [&](auto rows) {
    for (int64_t i = start; i < stop; i++) out[i - start] = square_of(rows, i, v);
  });
}

// ---- rows of a matrix by columns
template <class I> void csc_cuts(const CscView<I>& X, int64_t tile, int64_t tiles, int64_t* cuts) {
  for (int64_t j = 0; j < X.columns; j++) {
    int64_t p = X.indptr[j];
    for (int64_t t = 0; t < tiles; t++) {
      while (p < int64_t(X.indptr[j + 1]) && int64_t(X.rows[p]) < t * tile) p++;
      cuts[t * X.columns + j] = p;
    }
  }
}
// Column by column, so that the indices of a row are sorted.
template <class T, class I>
void csc_tile(const CscView<I>& X, const T* data, const int64_t* begin, const int64_t* end, int64_t first,
              const CsrTile<T, I>& tile) {
  for (int64_t i = 0; i <= tile.rows; i++) tile.indptr[i] = 0;
  for (int64_t j = 0; j < X.columns; j++)
    for (int64_t p = begin[j]; p < end[j]; p++) tile.indptr[X.rows[p] - first + 1]++;
  for (int64_t i = 1; i <= tile.rows; i++) tile.indptr[i] += tile.indptr[i - 1];
  for (int64_t j = 0; j < X.columns; j++)
    for (int64_t p = begin[j]; p < end[j]; p++) {
      const I at = tile.indptr[X.rows[p] - first]++;
      tile.indices[at] = I(j);
      tile.data[at] = data[p];
    }
  for (int64_t i = tile.rows; i > 0; i--) tile.indptr[i] = tile.indptr[i - 1];  // each had moved to the next row's begin
  tile.indptr[0] = 0;
}

const DesignTable design_table = {times,
                                  times_some,
                                  sums,
                                  gram,
                                  scaled<float>,
                                  scaled<double>,
                                  squares,
                                  csc_cuts<int32_t>,
                                  csc_cuts<int64_t>,
                                  csc_tile<float, int32_t>,
                                  csc_tile<double, int32_t>,
                                  csc_tile<float, int64_t>,
                                  csc_tile<double, int64_t>};

}  // namespace LEVEL
