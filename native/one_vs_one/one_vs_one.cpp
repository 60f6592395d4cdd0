#include "one_vs_one/one_vs_one.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int BLOCK_ROWS = 4, BLOCK_VECTORS = 3;  // 12 sums in registers, beside the 3 vectors of coefficients
typedef Vec<double> V;

// sums[r, :] += K[r, m] c_m over `count` support vectors, for ROWS rows and VECTORS vectors of coefficients.
template <int ROWS, int VECTORS, class T>
static INLINE void add_block(const double* c, int64_t stride, const T* K, int64_t support, int64_t count, double* sums,
                             int64_t row_stride) {
  V total[ROWS][VECTORS] = {};
  for (int64_t m = 0; m < count; m++, c += stride) {
    V coef[VECTORS];
    unrolled<VECTORS>([&](auto v) { coef[v] = load(c + v * LANES<double>); });
    unrolled<ROWS>([&](auto r) {
      const V value = splat<double>(double(K[r * support + m]));
      unrolled<VECTORS>([&](auto v) { total[r][v] += value * coef[v]; });
    });
  }
  unrolled<ROWS>([&](auto r) {
    unrolled<VECTORS>([&](auto v) { store(sums + r * row_stride + v * LANES<double>, total[r][v]); });
  });
}

template <int ROWS, class T>
static void add_rows(const PairCoefficients& c, const T* K, int64_t support, double* sums, double* out) {
  const int64_t k = c.classes, pairs = k * (k - 1) / 2, row_stride = k * c.stride;
  int64_t first = 0;
  for (int64_t i = 0; i < k; first += c.counts[i++]) {
    const double* rows = c.rows + first * c.stride;
    double* own = sums + i * c.stride;
    int64_t t = 0;
    for (; t + BLOCK_VECTORS * LANES<double> <= c.stride; t += BLOCK_VECTORS * LANES<double>)
      add_block<ROWS, BLOCK_VECTORS>(rows + t, c.stride, K + first, support, c.counts[i], own + t, row_stride);
    for (; t < c.stride; t += LANES<double>)
      add_block<ROWS, 1>(rows + t, c.stride, K + first, support, c.counts[i], own + t, row_stride);
  }
  for (int64_t r = 0; r < ROWS; r++, sums += row_stride)
    for (int64_t i = 0, pair = r * pairs; i < k; i++)
      for (int64_t j = i + 1; j < k; j++) out[pair++] = sums[i * c.stride + j - 1] + sums[j * c.stride + i];
}

template <class T>
static void values(const PairCoefficients& c, const T* K, int64_t support, int64_t rows, double* sums, double* out) {
  const int64_t pairs = c.classes * (c.classes - 1) / 2;
  int64_t r = 0;
  for (; r + BLOCK_ROWS <= rows; r += BLOCK_ROWS) add_rows<BLOCK_ROWS>(c, K + r * support, support, sums, out + r * pairs);
  for (; r < rows; r++) add_rows<1>(c, K + r * support, support, sums, out + r * pairs);
}

static void votes(const double* f, int64_t rows, int64_t k, bool zero_for_first, double* out) {
  for (int64_t r = 0; r < rows; r++, out += k) {
    for (int64_t i = 0; i < k; i++) out[i] = 0;
    for (int64_t i = 0; i < k; i++) {
      double own = 0;
      for (int64_t j = i + 1; j < k; j++) {
        const double first = f[j - i - 1] > 0 || (zero_for_first && f[j - i - 1] == 0) ? 1.0 : 0.0;
        own += first, out[j] += 1 - first;
      }
      out[i] += own, f += k - i - 1;
    }
  }
}

static void vote_range(const double* f, const double* bound, int64_t rows, int64_t k, double* fewest, double* most) {
  for (int64_t r = 0; r < rows; r++, fewest += k, most += k) {
    const double* b = bound;
    for (int64_t i = 0; i < k; i++) fewest[i] = most[i] = 0;
    for (int64_t i = 0; i < k; i++)
      for (int64_t j = i + 1; j < k; j++, f++, b++) {
        const double above = *f > *b ? 1.0 : 0.0, below = *f < -*b ? 1.0 : 0.0;
        fewest[i] += above, most[i] += 1 - below;
        fewest[j] += below, most[j] += 1 - above;
      }
  }
}

static void confidence(const double* f, int64_t rows, int64_t k, double* sums) {
  for (int64_t r = 0; r < rows; r++, sums += k) {
    for (int64_t i = 0; i < k; i++) sums[i] = 0;
    for (int64_t i = 0; i < k; i++)
      for (int64_t j = i + 1; j < k; j++, f++) sums[i] += *f, sums[j] -= *f;
  }
}

const OneVsOneTable one_vs_one_table = {{{values<float>}, {values<double>}}, votes, vote_range, confidence};

}  // namespace LEVEL
