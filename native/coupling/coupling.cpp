// A row per lane: Q + e e' = L D L' of a vector of rows is factorised in vectors. Below the diagonal stands L D, above it
// L', on it 1 / D.
#include "coupling/coupling.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;
static_assert(WIDTH <= COUPLING_MAX_LANES);

INLINE Vec<double> at(const double* A, int64_t k, int64_t i, int64_t j) { return load(A + (i * k + j) * WIDTH); }
INLINE void put(double* A, int64_t k, int64_t i, int64_t j, Vec<double> value) { store(A + (i * k + j) * WIDTH, value); }

static void fill(const Coupling& c, int64_t row) {
  const int64_t k = c.classes;
  double* A = c.matrices;
  for (int64_t i = 0; i < k; i++) put(A, k, i, i, splat(1.0));
  const int64_t* column = c.columns;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = i + 1; j < k; j++, column++) {
      Vec<double> r;
      for (int64_t lane = 0; lane < WIDTH; lane++)  // lanes past the end repeat the last row
        r[lane] = c.r[minimum(row + lane, c.rows - 1) * c.pairs + *column];
      r = minimum(splat(1.0 - c.least), maximum(splat(c.least), r));
      const Vec<double> other = 1.0 - r;
      put(A, k, i, i, at(A, k, i, i) + other * other);
      put(A, k, j, j, at(A, k, j, j) + r * r);
      put(A, k, j, i, 1.0 - r * other);
    }
}

static void factorise(double* A, int64_t k) {
  for (int64_t j = 0; j < k; j++)
    for (int64_t i = j; i < k; i++) {
      Vec<double> sum = at(A, k, i, j);
      for (int64_t t = 0; t < j; t++) sum -= at(A, k, i, t) * at(A, k, t, j);
      if (i == j) {
        put(A, k, j, j, 1.0 / sum);
        continue;
      }
      put(A, k, i, j, sum);
      put(A, k, j, i, sum * at(A, k, j, j));
    }
}

// L D L' x = e
static void solve(const double* A, int64_t k, double* x) {
  for (int64_t i = 0; i < k; i++) {
    Vec<double> sum = splat(1.0);
    for (int64_t t = 0; t < i; t++) sum -= at(A, k, t, i) * load(x + t * WIDTH);
    store(x + i * WIDTH, sum);
  }
  for (int64_t i = k - 1; i >= 0; i--) {
    Vec<double> sum = load(x + i * WIDTH) * at(A, k, i, i);
    for (int64_t t = i + 1; t < k; t++) sum -= at(A, k, i, t) * load(x + t * WIDTH);
    store(x + i * WIDTH, sum);
  }
}

void couple(const Coupling& c) {
  const int64_t k = c.classes;
  double* x = c.matrices + k * k * WIDTH;
  for (int64_t row = 0; row < c.rows; row += WIDTH) {
    fill(c, row);
    factorise(c.matrices, k);
    solve(c.matrices, k, x);
    Vec<double> total = {};
    for (int64_t i = 0; i < k; i++) {
      const Vec<double> p = maximum(Vec<double>{}, load(x + i * WIDTH));
      store(x + i * WIDTH, p);
      total += p;
    }
    const int64_t lanes = minimum(WIDTH, c.rows - row);
    for (int64_t lane = 0; lane < lanes; lane++)
      for (int64_t i = 0; i < k; i++) c.out[(row + lane) * k + i] = x[i * WIDTH + lane] / total[lane];
  }
}

const CouplingTable coupling_table = {couple};

}  // namespace LEVEL
