// evaluate: decision values, losses and K'g of a few rows follow each other while those rows are in the cache. Sums are
// float64, whatever K is.
#include "stored_rows/stored_rows.h"

#include "core/widen.h"
#include "smoothed_losses/block.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;
constexpr int ROWS = 4;                  // rows whose products share the loads of B, or of the gradient
constexpr int64_t ROWS_TOGETHER = 32;    // of 1000 float32 columns they take 128 kB: half of a second-level cache
static_assert(ROWS_TOGETHER <= BLOCK_ROWS);

template <int COUNT, class T> INLINE void decide(const T* K, int64_t stride, int64_t columns, const RowEvaluation& e, double* F) {
  Vec<double> sums[COUNT] = {};
  int64_t j = 0;
  for (; j + WIDTH <= columns; j += WIDTH) {
    const Vec<double> B = load(e.B + j);
    unrolled<COUNT>([&](auto r) { sums[r] += load_double(K + r * stride + j) * B; });
  }
  for (int r = 0; r < COUNT; r++) {
    double f = sum_of<double>(sums[r]);
    for (int64_t rest = j; rest < columns; rest++) f += double(K[r * stride + rest]) * e.B[rest];
    F[r] = f + e.b;
  }
}

template <int COUNT, class T>
INLINE void add_rows(const RowMatrix<T>& K, const int64_t* at, const double* g, double* gradient) {
  const T* rows[COUNT];
  for (int r = 0; r < COUNT; r++) rows[r] = K.data + at[r] * K.stride;
  int64_t j = 0;
  for (; j + WIDTH <= K.columns; j += WIDTH) {
    Vec<double> total = load(gradient + j);
    unrolled<COUNT>([&](auto r) { total += g[at[r]] * load_double(rows[r] + j); });
    store(gradient + j, total);
  }
  for (; j < K.columns; j++)
    for (int r = 0; r < COUNT; r++) gradient[j] += g[at[r]] * double(rows[r][j]);
}

template <class T> void add_gradient(const RowMatrix<T>& K, const RowEvaluation& e, int64_t start, int64_t stop) {
  for (int64_t side = 0; side < e.sides; side++) {
    int64_t at[ROWS_TOGETHER], count = 0, t = 0;
    for (int64_t i = start; i < stop; i++)
      if (e.sides == 1 ? e.g[i] != 0.0 : (side == 0 ? e.g[i] > 0.0 : e.g[i] != 0.0 && !(e.g[i] > 0.0))) at[count++] = i;
    double* gradient = e.gradient + side * K.columns;
    for (; t + ROWS <= count; t += ROWS) add_rows<ROWS>(K, at + t, e.g, gradient);
    for (; t < count; t++) add_rows<1>(K, at + t, e.g, gradient);
  }
}

template <class T>
int64_t evaluate(const RowMatrix<T>& K, const SmoothedLoss& loss, const LossRows& rows, const RowEvaluation& e) {
  int64_t support = 0;
  for (int64_t start = 0; start < K.rows; start += ROWS_TOGETHER) {
    const int64_t stop = minimum(start + ROWS_TOGETHER, K.rows);
    if (e.B) {
      int64_t i = start;
      for (; i + ROWS <= stop; i += ROWS) decide<ROWS>(K.data + i * K.stride, K.stride, K.columns, e, e.F + i);
      for (; i < stop; i++) decide<1>(K.data + i * K.stride, K.stride, K.columns, e, e.F + i);
    }
    LossRows part = rows;
    part.rows = stop;
    for_family(loss, [&](auto family) { support += first_order_of_block<family>(loss, part, start, e.g, e.sums); });
    add_gradient(K, e, start, stop);
  }
  return support;
}

template <class T> void take(const RowMatrix<T>& K, const int64_t* keep, int64_t count, T* out) {
  for (int64_t i = 0; i < count; i++)
    __builtin_memcpy(out + i * K.columns, K.data + keep[i] * K.stride, size_t(K.columns) * sizeof(T));
}

template <class T>
void add_weighted(const RowMatrix<T>& X, const double* w, const double* mean, bool squared, double* sums) {
  for (int64_t i = 0; i < X.rows; i++) {
    const T* x = X.data + i * X.stride;
    if (squared)
      for (int64_t j = 0; j < X.columns; j++) sums[j] += w[i] * (double(x[j]) - mean[j]) * (double(x[j]) - mean[j]);
    else
      for (int64_t j = 0; j < X.columns; j++) sums[j] += w[i] * (double(x[j]) - mean[j]);
  }
}

template <class T> constexpr StoredRowsFunctions<T> STORED_ROWS_FUNCTIONS = {evaluate<T>, take<T>, add_weighted<T>};

const StoredRowsTable stored_rows_table = {STORED_ROWS_FUNCTIONS<float>, STORED_ROWS_FUNCTIONS<double>};

}  // namespace LEVEL
