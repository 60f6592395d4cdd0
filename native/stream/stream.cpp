#include "stream/stream.h"

#include "design/rows.h"

extern "C" double log(double);  // of the C library: the same everywhere
extern "C" double exp(double);

namespace LEVEL {

constexpr double WARM_UP_ROWS = 100.0;      // after which steps become shorter
constexpr double SMALLEST_FACTOR = 1e-6;    // s below which it is multiplied out
constexpr double SMALLEST_SQUARE = 1e-200;  // below which steps would overflow

// Entries of a row with their columns, dense or sparse.
template <class T, class I> struct Entries {
  const T* x;
  const I* at;  // null: 0, 1, 2, ...
  int64_t count;
  int64_t column(int64_t p) const { return at ? int64_t(at[p]) : p; }
};
template <class T> INLINE Entries<T, int32_t> entries_of(const DenseRows<T>& X, int64_t i) {
  return {X.row(i), nullptr, X.columns};
}
template <class T, class I> INLINE Entries<T, I> entries_of(const CsrRows<T, I>& X, int64_t i) {
  return {X.data + X.indptr[i], X.indices + X.indptr[i], int64_t(X.indptr[i + 1] - X.indptr[i])};
}

template <class E> INLINE void row_values(const E& row, int64_t m, const double* U, double* values) {
  for (int64_t c = 0; c < m; c++) values[c] = 0.0;
  for (int64_t p = 0; p < row.count; p++) {
    const double entry = double(row.x[p]);
    if (entry == 0.0) continue;
    const double* u = U + row.column(p) * m;
    for (int64_t c = 0; c < m; c++) values[c] += entry * u[c];
  }
}

template <class Rows>
void learn_rows(const Rows& X, const StreamState& S, const int64_t* codes, const double* weights, int64_t start, int64_t stop) {
  const int64_t m = S.models, d = S.columns, k = S.classes;
  double* const N = S.numbers;
  double *const U_b = S.U + d * m, *const Z_b = S.Z + d * m;
  for (int64_t i = start; i < stop; i++) {
    if (weights[i] == 0.0) continue;
    const auto row = entries_of(X, i);
    const int64_t code = codes[i];
    double square = 0.0, entries = 0.0;
    for (int64_t p = 0; p < row.count; p++) {
      square += double(row.x[p]) * double(row.x[p]);
      entries += row.x[p] != 0 ? 1.0 : 0.0;
    }
    if (m == 1)
      S.values[0] = X.dot(i, S.U);
    else
      row_values(row, m, S.U, S.values);
    N[ROWS] += 1.0;
    N[WEIGHT] += weights[i];
    N[SIZE] += weights[i] * N[GROWS];
    if (square > 0.0) {
      N[SQUARES] += log(square);
      N[ENTRIES] += log(entries);
      N[MEASURED] += 1.0;
    }
    S.totals[code] += weights[i];
    if (S.balanced) {  // as much weight per class as if all classes were equally frequent so far
      double present = 0.0, all = 0.0;
      for (int64_t c = 0; c < k; c++) present += S.totals[c] > 0.0 ? 1.0 : 0.0, all += S.totals[c];
      for (int64_t c = 0; c < k; c++) S.factor[c] = S.totals[c] > 0.0 ? all / present / S.totals[c] : 0.0;
    }
    N[WEIGHTED] += weights[i] * S.factor[code];
    const double t = N[ROWS];
    double typical = N[WEIGHTED] / N[WEIGHT];
    if (k > 2 && typical < 1.0) typical = 1.0;  // the rest have weight one
    const double measured = maximum(N[MEASURED], 1.0);
    const double kappa2 = S.free ? exp((N[SQUARES] - N[ENTRIES]) / measured) : S.scaling2;
    const double size = typical * (exp(N[SQUARES] / measured) + kappa2);
    const double rough = (S.squared ? 2.0 : 1.0) * size * square_root(1.0 + t / WARM_UP_ROWS);
    const double lambda = 1.0 / (S.C * N[SIZE]);
    const double eta = 1.0 / maximum(lambda * t + rough, SMALLEST_SQUARE);
    const double eta_b = S.free ? 1.0 / maximum(rough, SMALLEST_SQUARE) : eta;
    const double reach = eta * square + eta_b * kappa2;
    N[SCALE] /= 1.0 + eta * lambda;
    if (N[SCALE] < SMALLEST_FACTOR) {
      for (int64_t j = 0; j < (S.free ? d : d + 1) * m; j++) S.U[j] *= N[SCALE];
      for (int64_t c = 0; c < m; c++) S.values[c] *= N[SCALE];
      N[LATE] /= N[SCALE];
      N[SCALE] = 1.0;
    }
    const double scale = N[SCALE], b_scale = S.free ? 1.0 : scale, b_late = S.free ? N[TOTAL] : N[LATE];
    const double relative = weights[i] * N[ROWS] / N[WEIGHT];
    int64_t hits = 0;
    for (int64_t c = 0; c < m; c++) {
      const bool own = k <= 2 ? code == 1 && c == 0 : code == c;
      const double sign = own ? 1.0 : -1.0;
      if (S.free && t == 1.0) U_b[c] = sign;
      const double slack = 1.0 - sign * (scale * S.values[c] + b_scale * U_b[c]);
      if (slack <= 0.0 || reach == 0.0) continue;
      const double r = relative * (k <= 2 || own ? S.factor[code] : 1.0);
      if (r == 0.0) continue;
      const double alpha = S.squared ? slack / (reach + 0.5 / r) : minimum(r, slack / reach);
      S.which[hits] = c, S.move[hits] = sign * alpha * eta / scale, hits++;
      const double b_move = sign * alpha * eta_b * kappa2 / b_scale;
      U_b[c] += b_move;
      Z_b[c] += b_late * b_move;
    }
    if (m == 1 && hits == 1) {
      X.add(i, S.move[0], S.U);
      X.add(i, N[LATE] * S.move[0], S.Z);
    } else if (hits > 0) {
      for (int64_t p = 0; p < row.count; p++) {
        const double entry = double(row.x[p]);
        if (entry == 0.0) continue;
        double *u = S.U + row.column(p) * m, *z = S.Z + row.column(p) * m;
        for (int64_t h = 0; h < hits; h++) {
          const double step = S.move[h] * entry;
          u[S.which[h]] += step;
          z[S.which[h]] += N[LATE] * step;
        }
      }
    }
    N[LATE] += t * t * t * scale;
    N[TOTAL] += t * t * t;
  }
}
void learn(const StreamState& S, const RowsView& view, const int64_t* codes, const double* weights, int64_t start, int64_t stop) {
  with_rows(view, [&](auto X) { learn_rows(X, S, codes, weights, start, stop); });
}

// Block by block, so that a block is read and written where it is in the cache.
void averages(const StreamState& S, double late, double total, int64_t models, double* coef) {
  constexpr int64_t BLOCK_COLUMNS = 64;
  const double share = 1.0 / total;
  for (int64_t block = 0; block < S.columns; block += BLOCK_COLUMNS)
    for (int64_t c = 0; c < models; c++)
      for (int64_t j = block; j < minimum(block + BLOCK_COLUMNS, S.columns); j++) {
        const int64_t at = j * S.models + c;
        coef[c * S.columns + j] = (late * S.U[at] - S.Z[at]) * share;
      }
}

const StreamTable stream_table = {learn, averages};

}  // namespace LEVEL
