// The rows of a sparse matrix are checked when their turn comes: a pass in random order would otherwise check all of them in
// every call.
#include "perceptron/perceptron.h"

#include "core/widen.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;

template <class T> INLINE double dot(const T* x, const double* v, int64_t columns) {
  Vec<double> one = {}, two = {};
  int64_t k = 0;
  for (; k + 2 * WIDTH <= columns; k += 2 * WIDTH) {
    one += load_double(x + k) * load(v + k);
    two += load_double(x + k + WIDTH) * load(v + k + WIDTH);
  }
  double f = sum_of<double>(Vec<double>(one + two));
  for (; k < columns; k++) f += double(x[k]) * v[k];
  return f;
}

// Counts a point with this decision value; whether v is to move, and by how much.
INLINE bool judge(PerceptronPass& p, int64_t i, double f, double& step) {
  const double margin = p.y[i] * f;
  if (margin > 0.0) return false;
  p.mistakes++;
  p.loss -= margin;
  step = p.eta * p.y[i];
  return p.eta > 0.0;
}

template <class T> void dense(const T* X, int64_t columns, PerceptronPass& p) {
  for (int64_t place = 0; place < p.count; place++, p.t++) {
    const int64_t i = p.order[place];
    const T* x = X + i * columns;
    double step;
    if (!judge(p, i, p.v[columns] * p.intercept + dot(x, p.v, columns), step)) continue;
    const double late = double(p.t) * step;
    for (int64_t k = 0; k < columns; k++) {
      p.v[k] += step * double(x[k]);
      p.s[k] += late * double(x[k]);
    }
    p.v[columns] += step * p.intercept;
    p.s[columns] += late * p.intercept;
  }
}

template <class I, class U> INLINE bool inside(const I* indices, int64_t count, int64_t columns) {
  U largest = 0;  // as unsigned numbers, negative ones are the largest
  for (int64_t p = 0; p < count; p++) largest = U(indices[p]) > largest ? U(indices[p]) : largest;
  return count == 0 || largest < U(columns);
}

template <class T, class I, class U> int64_t csr(const Csr<T, I>& X, int64_t entries, PerceptronPass& p) {
  const int64_t d = X.columns;
  for (int64_t place = 0; place < p.count; place++, p.t++) {
    const int64_t i = p.order[place], start = X.indptr[i], stop = X.indptr[i + 1];
    if (start < 0 || stop < start || stop > entries || !inside<I, U>(X.indices + start, stop - start, d)) return place;
    double f = p.v[d] * p.intercept, step;
    for (int64_t e = start; e < stop; e++) f += double(X.data[e]) * p.v[X.indices[e]];
    if (!judge(p, i, f, step)) continue;
    const double late = double(p.t) * step;
    for (int64_t e = start; e < stop; e++) {
      p.v[X.indices[e]] += step * double(X.data[e]);
      p.s[X.indices[e]] += late * double(X.data[e]);
    }
    p.v[d] += step * p.intercept;
    p.s[d] += late * p.intercept;
  }
  return p.count;
}

template <class T>
constexpr PerceptronFunctions<T> PERCEPTRON_FUNCTIONS = {dense<T>, csr<T, int32_t, uint32_t>,
                                                         csr<T, int64_t, uint64_t>};

const PerceptronTable perceptron_table = {PERCEPTRON_FUNCTIONS<float>, PERCEPTRON_FUNCTIONS<double>};

}  // namespace LEVEL
