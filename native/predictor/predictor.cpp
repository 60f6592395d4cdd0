#include "predictor/predictor.h"

#include "core/functions.h"

namespace LEVEL {

constexpr int VECTORS = REGISTERS == 32 ? 8 : 4;  // of a panel: enough sums to hide the latency of an addition
constexpr int WIDTH = VECTORS * LANES<double>;
typedef Vec<double> V;

static double dot(const double* a, const double* b, int64_t d) {
  V sums[4] = {};
  int64_t k = 0;
  for (; k + 4 * LANES<double> <= d; k += 4 * LANES<double>)
    unrolled<4>([&](auto c) { sums[c] += load(a + k + c * LANES<double>) * load(b + k + c * LANES<double>); });
  double total = sum_of<double>((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; k < d; k++) total += a[k] * b[k];
  return total;
}

template <int KIND, class Kernel> INLINE V value_of(V s, const Kernel& f) {
  if constexpr (KIND == PREDICT_RBF || KIND == PREDICT_LAPLACIAN)
    return exp2_in_range<double>(cut_below<double>(s * -f.g));
  else {
    const V t = s * f.g + f.coef0;
    if constexpr (KIND == PREDICT_POLYNOMIAL) return integer_power<double>(t, f.degree);
    return tanh_of_exponent<double>(t * (2 * 1.4426950408889634));
  }
}

// Kernel values of x with one panel. A function of its own, so that the constants of 2^t take no registers of the sums.
template <int KIND> NOINLINE void panel_values(const FittedFunction& f, const double* x, const double* panel, V* values) {
  V sums[VECTORS] = {};
  for (int64_t k = 0; k < f.d; k++, panel += WIDTH) {
    const V entry = splat<double>(x[k]);
    unrolled<VECTORS>([&](auto v) {
      const V z = load(panel + v * LANES<double>);
      if constexpr (KIND == PREDICT_RBF)
        sums[v] += (entry - z) * (entry - z);
      else if constexpr (KIND == PREDICT_LAPLACIAN)
        sums[v] += absolute_lanes<double>(entry - z);
      else
        sums[v] += entry * z;
    });
  }
  unrolled<VECTORS>([&](auto v) { values[v] = value_of<KIND>(sums[v], f); });
}

template <int KIND> static void evaluate_kernel(const FittedFunction& f, const double* X, int64_t rows, double* scratch,
                                                double* out) {
  for (int64_t i = 0; i < rows; i++, X += f.d, out += f.outputs) {
    for (int64_t t = 0; t < f.outputs * LANES<double>; t++) scratch[t] = 0;
    for (int64_t p = 0; p < f.panels; p++) {
      V values[VECTORS];
      panel_values<KIND>(f, X, f.Z + p * f.d * WIDTH, values);
      for (int64_t t = 0; t < f.outputs; t++) {
        const double* c = f.coef + (t * f.panels + p) * WIDTH;
        V sum = load(scratch + t * LANES<double>);
        unrolled<VECTORS>([&](auto v) { sum += values[v] * load(c + v * LANES<double>); });
        store(scratch + t * LANES<double>, sum);
      }
    }
    for (int64_t t = 0; t < f.outputs; t++)
      out[t] = sum_of<double>(load(scratch + t * LANES<double>)) + f.intercept[t];
  }
}

template <int KIND> static void store_kernel(const FittedFunction& f, const double* X, int64_t rows, double* K) {
  for (int64_t i = 0; i < rows; i++, X += f.d)
    for (int64_t p = 0; p < f.panels; p++, K += WIDTH) {
      V values[VECTORS];
      panel_values<KIND>(f, X, f.Z + p * f.d * WIDTH, values);
      unrolled<VECTORS>([&](auto v) { store(K + v * LANES<double>, values[v]); });
    }
}

static void kernel_values(const FittedFunction& f, const double* X, int64_t rows, double* K) {
  switch (f.kind) {
    case PREDICT_RBF: return store_kernel<PREDICT_RBF>(f, X, rows, K);
    case PREDICT_LAPLACIAN: return store_kernel<PREDICT_LAPLACIAN>(f, X, rows, K);
    case PREDICT_POLYNOMIAL: return store_kernel<PREDICT_POLYNOMIAL>(f, X, rows, K);
    case PREDICT_SIGMOID: return store_kernel<PREDICT_SIGMOID>(f, X, rows, K);
  }
}

static void evaluate(const FittedFunction& f, const double* X, int64_t rows, double* scratch, double* out) {
  switch (f.kind) {
    case PREDICT_RBF: return evaluate_kernel<PREDICT_RBF>(f, X, rows, scratch, out);
    case PREDICT_LAPLACIAN: return evaluate_kernel<PREDICT_LAPLACIAN>(f, X, rows, scratch, out);
    case PREDICT_POLYNOMIAL: return evaluate_kernel<PREDICT_POLYNOMIAL>(f, X, rows, scratch, out);
    case PREDICT_SIGMOID: return evaluate_kernel<PREDICT_SIGMOID>(f, X, rows, scratch, out);
  }
  for (int64_t i = 0; i < rows; i++)
    for (int64_t t = 0; t < f.outputs; t++)
      out[i * f.outputs + t] = dot(f.Z + t * f.d, X + i * f.d, f.d) + f.intercept[t];
}

template <int KIND, class I> static void store_sparse(const SparseAnchors& Z, const SparseRow<I>& x, double* K) {
  double square = 0;
  for (int64_t s = 0; s < Z.padded; s++) K[s] = 0;
  for (int64_t e = 0; e < x.count; e++) {
    const int64_t column = x.columns[e];
    const double entry = x.entries[e];
    square += entry * entry;
    for (int64_t p = Z.start[column]; p < Z.start[column + 1]; p++) K[Z.which[p]] += entry * Z.entries[p];
  }
  for (int64_t s = 0; s < Z.padded; s += LANES<double>) {
    V sum = load(K + s);
    if constexpr (KIND == PREDICT_RBF) sum = maximum(load(Z.squares + s) + square - 2 * sum, splat<double>(0));
    store(K + s, value_of<KIND>(sum, Z));
  }
}

template <class I> static void sparse_values(const SparseAnchors& Z, const SparseRow<I>& x, double* K) {
  switch (Z.kind) {
    case PREDICT_RBF: return store_sparse<PREDICT_RBF>(Z, x, K);
    case PREDICT_POLYNOMIAL: return store_sparse<PREDICT_POLYNOMIAL>(Z, x, K);
    case PREDICT_SIGMOID: return store_sparse<PREDICT_SIGMOID>(Z, x, K);
  }
}

const PredictorTable predictor_table = {WIDTH,         LANES<double>,          evaluate,
                                        kernel_values, sparse_values<int32_t>, sparse_values<int64_t>};

}  // namespace LEVEL
