#include "columns/columns.h"

#include "design/rows.h"

namespace LEVEL {

constexpr double PROMISED_PART = 0.01;      // of the promised decrease that a step must bring
constexpr int HALVINGS = 30;
constexpr double SMALLEST_CURVATURE = 1e-12;  // relative to that of all rows

INLINE double soft(double z) { return z > 1.0 ? z - 1.0 : (z < -1.0 ? z + 1.0 : 0.0); }
INLINE double positive(double x) { return x > 0.0 ? x : 0.0; }

// f(row, value) for the entries of column j.
template <class T, class F> INLINE void each_entry(const DenseRows<T>& X, int64_t j, F&& f) {
  const T* x = X.row(j);
  for (int64_t i = 0; i < X.columns; i++) f(i, double(x[i]));
}
template <class T, class I, class F> INLINE void each_entry(const CsrRows<T, I>& X, int64_t j, F&& f) {
  for (int64_t p = X.indptr[j]; p < int64_t(X.indptr[j + 1]); p++) f(int64_t(X.indices[p]), double(X.data[p]));
}

template <class Columns>
double descend_columns(const Columns& X, const int64_t* order, int64_t count, const double* y, const double* c, double* w, double* slack) {
  double largest = 0.0;
  for (int64_t at = 0; at < count; at++) {
    const int64_t j = order[at];
    double p = 0.0, curvature = 0.0, all = 0.0;
    each_entry(X, j, [&](int64_t i, double x) {
      const double square = 2.0 * c[i] * x * x;
      all += square;
      if (slack[i] > 0.0) p += 2.0 * c[i] * y[i] * x * slack[i], curvature += square;
    });
    curvature = maximum(curvature, SMALLEST_CURVATURE * all);
    if (!(curvature > 0.0)) continue;
    double step = soft(curvature * w[j] + p) / curvature - w[j];
    if (step == 0.0) continue;
    double promise = -p * step + absolute(w[j] + step) - absolute(w[j]);
    for (int halving = 0; halving < HALVINGS; halving++, step *= 0.5, promise *= 0.5) {
      double change = absolute(w[j] + step) - absolute(w[j]);
      each_entry(X, j, [&](int64_t i, double x) {
        const double before = positive(slack[i]), after = positive(slack[i] - step * y[i] * x);
        change += c[i] * (after * after - before * before);
      });
      if (!(change <= PROMISED_PART * promise)) continue;
      each_entry(X, j, [&](int64_t i, double x) { slack[i] -= step * y[i] * x; });
      w[j] += step;
      largest = maximum(largest, absolute(step) * curvature);
      break;
    }
  }
  return largest;
}
double descend(const RowsView& view, const int64_t* order, int64_t count, const double* y, const double* c, double* w, double* slack) {
  return with_rows(view, [&](auto X) { return descend_columns(X, order, count, y, c, w, slack); });
}

void model(const double* H, int64_t d, double* v, double* q, double goal, int64_t passes, int64_t rested) {
  int64_t same_passes = 0;
  for (int64_t pass = 0; pass < passes; pass++) {
    double largest = 0.0;
    bool same = true;
    for (int64_t j = 0; j < d; j++) {
      const double* line = H + j * d;
      if (!(line[j] > 0.0)) continue;
      const double moved = soft(line[j] * v[j] - q[j]) / line[j], change = moved - v[j];
      if (change == 0.0) continue;
      same = same && (moved > 0.0) == (v[j] > 0.0) && (moved < 0.0) == (v[j] < 0.0);
      v[j] = moved;
      for (int64_t k = 0; k < d; k++) q[k] += change * line[k];
      largest = maximum(largest, absolute(change) * line[j]);
    }
    same_passes = same ? same_passes + 1 : 0;
    if (largest <= goal || same_passes == rested) break;
  }
}

const ColumnsTable columns_table = {descend, model};

}  // namespace LEVEL
