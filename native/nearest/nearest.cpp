// Most columns are farther than the farthest kept: a vector of them is compared at once, and only a vector with a nearer
// one is inserted column by column.
#include "nearest/nearest.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;


template <class V> INLINE void distances(const NearestTile& t, V total, V k, V& d, V& error) {
  error = t.rounding * total;
  error = error < 0.0 ? -error : error;
  d = total - 2.0 * k;
  if (t.clip) d = d <= error ? V{} : d;
}

INLINE void insert(double d, double error, int64_t point, double* squares, int64_t* indices, int64_t count) {
  int64_t at = count - 1;
  if (!(d + error < squares[at])) return;
  for (; at > 0 && d + error < squares[at - 1]; at--) {
    squares[at] = squares[at - 1];
    indices[at] = indices[at - 1];
  }
  squares[at] = d;
  indices[at] = point;
}

void keep(const NearestTile& t) {
  for (int64_t i = 0; i < t.rows; i++) {
    const double* K = t.K + i * t.columns;
    double* squares = t.squares + i * t.count;
    int64_t* indices = t.indices + i * t.count;
    const int64_t excluded = t.excluded + i;
    int64_t j = 0;
    for (; j + WIDTH <= t.columns; j += WIDTH) {
      Vec<double> d, error;
      distances(t, Vec<double>(t.k_xx[i] + load(t.k_zz + j)), load(K + j), d, error);
      const Ints<double> nearer = d + error < squares[t.count - 1];
      if (minimum_integer_of<double>(nearer) == 0) continue;
      for (int64_t lane = 0; lane < WIDTH; lane++)
        if (nearer[lane] && t.first + j + lane != excluded)
          insert(d[lane], error[lane], t.first + j + lane, squares, indices, t.count);
    }
    for (; j < t.columns; j++) {
      double d, error;
      distances(t, t.k_xx[i] + t.k_zz[j], K[j], d, error);
      if (t.first + j != excluded) insert(d, error, t.first + j, squares, indices, t.count);
    }
  }
}

const NearestTable nearest_table = {keep};

}  // namespace LEVEL
