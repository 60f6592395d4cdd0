#include "pair_sums/pair_sums.h"

#include "core/simd.h"

namespace LEVEL {

typedef Vec<double> V;
constexpr int WIDTH = LANES<double>;
// Accumulators that stay in registers: ROWS rows with so many vectors of columns.
constexpr int VECTORS = REGISTERS == 32 && WIDTH > 2 ? 4 : 2;
constexpr int ROWS = 4;
constexpr int64_t W = PAIR_PANEL_COLUMNS;
static_assert(W % (VECTORS * WIDTH) == 0, "a panel is whole groups of vectors");

template <int KIND, class X> INLINE X term(X a, X b) {
  if constexpr (KIND == PRODUCT) return a * b;
  if constexpr (KIND == MINIMUM) return a < b ? a : b;
  const X apart = a - b;
  if constexpr (KIND == SQUARED) return apart * apart;
  if constexpr (KIND == ABSOLUTE) return apart < X{} ? X{} - apart : apart;
  const X both = a + b;
  return both != X{} ? apart * apart / both : X{};
}

// out[r][c] = sum over k < d of the terms of a[r] and column c of the panel (plus rest[c]), r < height and c < width.
template <int KIND, int R, class T>
INLINE void block(const T* const (&a)[R], int64_t d, const double* panel, const double* rest, int64_t height,
                  int64_t width, double* out, int64_t stride) {
  for (int64_t c = 0; c < width; c += VECTORS * WIDTH) {
    V sums[R][VECTORS];
    unrolled<R>([&](auto r) {
      unrolled<VECTORS>([&](auto v) { sums[r][v] = rest ? load(rest + c + v * WIDTH) : V{}; });
    });
    const double* b = panel + c;
    for (int64_t k = 0; k < d; k++, b += W) {
      V right[VECTORS];
      unrolled<VECTORS>([&](auto v) { right[v] = load(b + v * WIDTH); });
      unrolled<R>([&](auto r) {
        const V left = splat(double(a[r][k]));
        unrolled<VECTORS>([&](auto v) { sums[r][v] += term<KIND>(left, right[v]); });
      });
    }
    for (int64_t r = 0; r < height; r++)
      for (int v = 0; v < VECTORS; v++) {
        const int64_t first = c + v * WIDTH, left = width - first;
        if (left <= 0) break;
        double* place = out + r * stride + first;
        if (left >= WIDTH)
          store(place, sums[r][v]);
        else
          store_first(place, sums[r][v], left);
      }
  }
}

// ------------------------------------------------------------------------------------------------ dense rows

template <class T> INLINE const T* row_of(const PairRows<T>& rows, int64_t i) {
  return rows.data + (rows.index ? rows.index[i] : i) * rows.columns;
}

// panel[k, j] = coordinate k of row first + j; where there are no more rows, the last one again. A few coordinates of
// all rows at a time: what is written then stays in the first-level cache.
template <class T> INLINE void lay_out(const PairRows<T>& B, int64_t first, int64_t width, double* panel) {
  constexpr int64_t AT_A_TIME = 8;
  const T* rows[W];
  for (int64_t j = 0; j < W; j++) rows[j] = row_of(B, first + minimum(j, width - 1));
  int64_t k = 0;
  for (; k + AT_A_TIME <= B.columns; k += AT_A_TIME)
    for (int64_t j = 0; j < W; j++)
      unrolled<int(AT_A_TIME)>([&](auto t) { panel[(k + t) * W + j] = double(rows[j][k + t]); });
  for (; k < B.columns; k++)
    for (int64_t j = 0; j < W; j++) panel[k * W + j] = double(rows[j][k]);
}

template <int KIND, class T>
void dense_of(const PairRows<T>& A, const PairRows<T>& B, double* panel, double* out) {
  for (int64_t j = 0; j < B.count; j += W) {
    const int64_t width = minimum(W, B.count - j);
    lay_out(B, j, width, panel);
    for (int64_t i = 0; i < A.count; i += ROWS) {
      const int64_t height = minimum(int64_t(ROWS), A.count - i);
      const T* a[ROWS];
      for (int r = 0; r < ROWS; r++) a[r] = row_of(A, i + minimum(int64_t(r), height - 1));
      block<KIND, ROWS>(a, A.columns, panel, nullptr, height, width, out + i * B.count + j, B.count);
    }
  }
}

// ------------------------------------------------------------------------------------------------ sparse rows

template <int KIND, class T, class I>
void sparse_of(const Csr<T, I>& A, const Csr<T, I>& B, PairSumsScratch scratch, double* out) {
  for (int64_t i = 0; i < A.rows; i++) {
    const int64_t first = A.indptr[i], columns = A.indptr[i + 1] - first;
    for (int64_t k = 0; k < columns; k++) {
      scratch.place[A.indices[first + k]] = int32_t(k);
      scratch.row[k] = double(A.data[first + k]);
    }
    const double* const row[1] = {scratch.row};
    for (int64_t j = 0; j < B.rows; j += W) {
      const int64_t width = minimum(W, B.rows - j);
      double rest[W] = {};
      __builtin_memset(scratch.panel, 0, size_t(columns) * size_t(W) * sizeof(double));
      for (int64_t c = 0; c < width; c++) {
        double sums[2] = {};  // of every other entry: one sum would wait for itself
        for (int64_t q = B.indptr[j + c]; q < B.indptr[j + c + 1]; q++) {
          const int64_t k = scratch.place[B.indices[q]];
          if (k >= 0)
            scratch.panel[k * W + c] = double(B.data[q]);
          else
            sums[q & 1] += term<KIND>(0.0, double(B.data[q]));
        }
        rest[c] = sums[0] + sums[1];
      }
      block<KIND, 1>(row, columns, scratch.panel, rest, 1, width, out + i * B.rows + j, B.rows);
    }
    for (int64_t k = 0; k < columns; k++) scratch.place[A.indices[first + k]] = -1;
  }
}

// ------------------------------------------------------------------------------------------------ lines

void products_with_lines(const double* lines, const int32_t* place, const SparsePairRows& B, double* out) {
  constexpr int VECTORS_OF_LINE = int(PAIR_LINE) / WIDTH;
  for (int64_t t = 0; t < B.count; t++, out += PAIR_LINE) {
    V sums[2][VECTORS_OF_LINE] = {};
    const auto add = [&](int64_t e, auto chain) {
      const double* line = lines + int64_t(place[B.indices[e]]) * PAIR_LINE;
      const V value = splat(B.data[e]);
      unrolled<VECTORS_OF_LINE>([&](auto v) { sums[chain][v] += value * load(line + v * WIDTH); });
    };
    int64_t e = B.indptr[B.rows[t]];
    const int64_t end = B.indptr[B.rows[t] + 1];
    for (; e + 2 <= end; e += 2) unrolled<2>([&](auto chain) { add(e + chain, chain); });
    if (e < end) unrolled<1>([&](auto chain) { add(e, chain); });
    unrolled<VECTORS_OF_LINE>([&](auto v) { store(out + v * WIDTH, sums[0][v] + sums[1][v]); });
  }
}

// ------------------------------------------------------------------------------------------------ the table

template <class T> void dense(int kind, const PairRows<T>& A, const PairRows<T>& B, double* panel, double* out) {
  switch (kind) {
    case PRODUCT: return dense_of<PRODUCT>(A, B, panel, out);
    case SQUARED: return dense_of<SQUARED>(A, B, panel, out);
    case ABSOLUTE: return dense_of<ABSOLUTE>(A, B, panel, out);
    case CHI_SQUARED: return dense_of<CHI_SQUARED>(A, B, panel, out);
    default: return dense_of<MINIMUM>(A, B, panel, out);
  }
}

template <class T, class I>
void sparse(int kind, const Csr<T, I>& A, const Csr<T, I>& B, PairSumsScratch scratch, double* out) {
  switch (kind) {
    case PRODUCT: return sparse_of<PRODUCT>(A, B, scratch, out);
    case SQUARED: return sparse_of<SQUARED>(A, B, scratch, out);
    case ABSOLUTE: return sparse_of<ABSOLUTE>(A, B, scratch, out);
    case CHI_SQUARED: return sparse_of<CHI_SQUARED>(A, B, scratch, out);
    default: return sparse_of<MINIMUM>(A, B, scratch, out);
  }
}

template <class T>
constexpr PairSumsFunctions<T> PAIR_SUMS_FUNCTIONS = {dense<T>, sparse<T, int32_t>, sparse<T, int64_t>};

const PairSumsTable pair_sums_table = {{PAIR_SUMS_FUNCTIONS<float>, PAIR_SUMS_FUNCTIONS<double>}, products_with_lines};

}  // namespace LEVEL
