// Dense: a panel of two registers of rows of B, transposed, passes ROWS rows of A at a time; their sums stay in
// registers. Sparse: the entries of two rows are merged.
#include "coordinate_sums/coordinate_sums.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int VECTORS = 2, ROWS = 4;  // 8 sums hide the latency of an addition, and leave registers for terms
constexpr int64_t PANEL = VECTORS * LANES<double>;
static_assert(PANEL <= PANEL_MAX_LANES);

template <CoordinateTerm TERM> INLINE Vec<double> term_of(Vec<double> a, Vec<double> b) {
  if constexpr (TERM == MANHATTAN) return absolute_lanes<double>(a - b);
  if constexpr (TERM == INTERSECTION) return minimum(a, b);
  const Vec<double> total = a + b, difference = a - b;
  return total != 0.0 ? difference * difference / total : Vec<double>{};
}

template <CoordinateTerm TERM> INLINE double term_of(double a, double b) {
  if constexpr (TERM == MANHATTAN) return absolute(a - b);
  if constexpr (TERM == INTERSECTION) return minimum(a, b);
  const double total = a + b, difference = a - b;
  return total != 0.0 ? difference * difference / total : 0.0;
}

template <CoordinateTerm TERM, int COUNT>
INLINE void panel_sums(const double* A, int64_t columns, const double* panel, double* out, int64_t stride,
                       int64_t width) {
  Vec<double> sums[COUNT][VECTORS] = {};
  for (int64_t k = 0; k < columns; k++) {
    Vec<double> b[VECTORS];
    unrolled<VECTORS>([&](auto v) { b[v] = load(panel + k * PANEL + v * LANES<double>); });
    unrolled<COUNT>([&](auto r) {
      const Vec<double> a = splat(A[r * columns + k]);
      unrolled<VECTORS>([&](auto v) { sums[r][v] += term_of<TERM>(a, b[v]); });
    });
  }
  for (int r = 0; r < COUNT; r++)
    for (int v = 0; v < VECTORS; v++) {
      const int64_t at = v * LANES<double>, left = width - at;
      if (left >= LANES<double>)
        store(out + r * stride + at, sums[r][v]);
      else if (left > 0)
        store_first<double>(out + r * stride + at, sums[r][v], left);
    }
}

template <CoordinateTerm TERM> void dense_of(const DenseSums& s) {
  const int64_t d = s.columns;
  for (int64_t j = 0; j < s.others; j += PANEL) {
    const int64_t width = minimum<int64_t>(PANEL, s.others - j);
    for (int64_t lane = 0; lane < PANEL; lane++)
      for (int64_t k = 0; k < d; k++) s.panel[k * PANEL + lane] = lane < width ? s.B[(j + lane) * d + k] : 0.0;
    int64_t i = 0;
    for (; i + ROWS <= s.rows; i += ROWS)
      panel_sums<TERM, ROWS>(s.A + i * d, d, s.panel, s.out + i * s.stride + j, s.stride, width);
    for (; i < s.rows; i++) panel_sums<TERM, 1>(s.A + i * d, d, s.panel, s.out + i * s.stride + j, s.stride, width);
  }
}

// The value, or zero; without a branch.
INLINE double kept_if(bool keep, double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  bits &= -uint64_t(keep);
  __builtin_memcpy(&value, &bits, sizeof bits);
  return value;
}

template <CoordinateTerm TERM, class I> void sparse_of(const SparseSums<I>& s) {
  const auto &A = s.A, &B = s.B;
  for (int64_t i = 0; i < A.rows; i++)
    for (int64_t j = 0; j < B.rows; j++) {
      I p = A.indptr[i], q = B.indptr[j];
      const I p_end = A.indptr[i + 1], q_end = B.indptr[j + 1];
      double total = 0.0;
      while (p < p_end && q < q_end) {
        const I a = A.indices[p], b = B.indices[q];
        const bool left = a <= b, right = b <= a;  // no branch: it would be guessed wrong every other time
        total += term_of<TERM>(kept_if(left, A.data[p]), kept_if(right, B.data[q]));
        p += left;
        q += right;
      }
      for (; p < p_end; p++) total += term_of<TERM>(A.data[p], 0.0);
      for (; q < q_end; q++) total += term_of<TERM>(0.0, B.data[q]);
      s.out[i * s.stride + j] = total;
    }
}

void dense(const DenseSums& sums, CoordinateTerm term) {
  if (term == MANHATTAN) return dense_of<MANHATTAN>(sums);
  if (term == CHI_SQUARED) return dense_of<CHI_SQUARED>(sums);
  dense_of<INTERSECTION>(sums);
}

template <class I> void sparse(const SparseSums<I>& sums, CoordinateTerm term) {
  if (term == MANHATTAN) return sparse_of<MANHATTAN>(sums);
  if (term == CHI_SQUARED) return sparse_of<CHI_SQUARED>(sums);
  sparse_of<INTERSECTION>(sums);
}

const CoordinateSumsTable coordinate_sums_table = {dense, sparse<int32_t>, sparse<int64_t>};

}  // namespace LEVEL
