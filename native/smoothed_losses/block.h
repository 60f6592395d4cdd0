// The losses of a block of rows and one output, in vectors. Only level sources include this file.
#pragma once
#include "core/simd.h"
#include "smoothed_losses/smoothed_losses.h"

namespace LEVEL {

constexpr int64_t BLOCK_ROWS = 64;  // the arrays of a block, 3 kB, stay in the first-level cache
constexpr int64_t LOSS_LANES = LANES<double>;

enum Family { HINGE, SQUARED_HINGE, TUBE, SQUARED_TUBE, SQUARES };

INLINE Family family_of(const SmoothedLoss& loss) {
  if (!loss.tube) return loss.squared ? SQUARED_HINGE : HINGE;
  if (!loss.squared) return TUBE;
  return loss.epsilon == 0.0 ? SQUARES : SQUARED_TUBE;
}

// f(Int<family>{}) with the family as a constant
template <class F> INLINE decltype(auto) for_family(const SmoothedLoss& loss, F&& f) {
  switch (family_of(loss)) {
    case HINGE: return f(Int<HINGE>{});
    case SQUARED_HINGE: return f(Int<SQUARED_HINGE>{});
    case TUBE: return f(Int<TUBE>{});
    case SQUARED_TUBE: return f(Int<SQUARED_TUBE>{});
    default: return f(Int<SQUARES>{});
  }
}

struct Rounding {
  Vec<double> epsilon, width, inverse;
  explicit INLINE Rounding(const SmoothedLoss& loss)
      : epsilon(splat(loss.epsilon)), width(splat(loss.width)), inverse(splat(1.0 / loss.width)) {}
};

struct LossValues {
  Vec<double> smooth, a, curvature;
};

template <bool SQUARED> INLINE LossValues hinge(Vec<double> s, const Rounding& r, Vec<double> centre) {
  const Vec<double> zero = {};
  if constexpr (SQUARED) {
    const Vec<double> part = maximum(s, zero);
    return {part * part, 2.0 * part, s > 0.0 ? splat(2.0) : zero};
  } else {
    // Without width (s / d is NaN at s = 0) the multiplier there is 1: NaN passes the first comparison, not the second.
    const Vec<double> a = minimum(maximum(zero, Vec<double>(centre + s * r.inverse)), splat(1.0));
    const Vec<double> away = a - centre;
    const Ints<double> inside = (s > -centre * r.width) & (s < (1.0 - centre) * r.width);
    return {a * s - 0.5 * r.width * away * away, a, inside ? r.inverse : zero};
  }
}

// x is 1 - y f of a classifier, y - f of a tube.
template <int FAMILY>
INLINE LossValues values_at(Vec<double> x, const Rounding& r, Vec<double> up, Vec<double> down) {
  if constexpr (FAMILY == HINGE || FAMILY == SQUARED_HINGE) return hinge<FAMILY == SQUARED_HINGE>(x, r, up);
  if constexpr (FAMILY == SQUARES) return {x * x, 2.0 * x, splat(2.0)};
  const LossValues above = hinge<FAMILY == SQUARED_TUBE>(x - r.epsilon, r, up);
  const LossValues below = hinge<FAMILY == SQUARED_TUBE>(-x - r.epsilon, r, down);
  return {above.smooth + below.smooth, above.a - below.a, above.curvature + below.curvature};
}

template <int FAMILY> INLINE Vec<double> kinked_at(Vec<double> x, const Rounding& r) {
  constexpr bool tube = FAMILY >= TUBE, squared = FAMILY != HINGE && FAMILY != TUBE;
  const Vec<double> s = maximum(Vec<double>(tube ? absolute_lanes<double>(x) - r.epsilon : x), Vec<double>{});
  return squared ? s * s : s;
}

// One output of up to BLOCK_ROWS rows, side by side. Rows past the end have weight and target zero.
struct Block {
  alignas(64) double x[BLOCK_ROWS], y[BLOCK_ROWS], c[BLOCK_ROWS], up[BLOCK_ROWS], down[BLOCK_ROWS];
  int64_t count;

  template <int FAMILY> INLINE void pack(const LossRows& rows, int64_t start, int64_t output) {
    count = minimum<int64_t>(BLOCK_ROWS, rows.rows - start);
    const int64_t k = rows.outputs, padded = (count + LOSS_LANES - 1) / LOSS_LANES * LOSS_LANES;
    const int64_t at = start * k + output;
    for (int64_t i = 0; i < count; i++) {
      const double f = rows.F[at + i * k];
      y[i] = rows.y[at + i * k];
      x[i] = FAMILY >= TUBE ? y[i] - f : 1.0 - y[i] * f;
    }
    for (int64_t i = 0; i < count; i++) c[i] = rows.c ? rows.c[at + i * k] : 1.0;
    if (FAMILY == HINGE || FAMILY == TUBE)
      for (int64_t i = 0; i < count; i++) {
        const double centre = rows.centre ? rows.centre[at + i * k] : 0.5;
        up[i] = centre > 0.0 ? centre : 0.0;
        down[i] = rows.centre ? (centre < 0.0 ? -centre : 0.0) : 0.5;
      }
    for (int64_t i = count; i < padded; i++) x[i] = y[i] = c[i] = up[i] = down[i] = 0.0;
  }
  template <int FAMILY> INLINE LossValues values(const Rounding& r, int64_t i) const {
    return values_at<FAMILY>(load(x + i), r, load(up + i), load(down + i));
  }
};

// Values of a block to one output of an array of shape (rows, outputs).
INLINE void unpack(const double* values, int64_t count, double* out, int64_t outputs) {
  for (int64_t i = 0; i < count; i++) out[i * outputs] = values[i];
}

// first_order of the table, for at most BLOCK_ROWS rows from `start` on; g and sums are those of all rows.
template <int FAMILY>
INLINE int64_t first_order_of_block(const SmoothedLoss& loss, const LossRows& rows, int64_t start, double* g,
                                    double* sums) {
  constexpr bool tube = FAMILY >= TUBE, squared = FAMILY != HINGE && FAMILY != TUBE;
  const Rounding r(loss);
  const int64_t k = rows.outputs;
  Ints<double> used[BLOCK_ROWS / LOSS_LANES] = {};
  Block block;
  alignas(64) double slopes[BLOCK_ROWS];
  for (int64_t output = 0; output < k; output++) {
    block.pack<FAMILY>(rows, start, output);
    Vec<double> total[LOSS_SUMS] = {};
    for (int64_t i = 0; i < block.count; i += LOSS_LANES) {
      const LossValues at = block.values<FAMILY>(r, i);
      const Vec<double> y = load(block.y + i), c = load(block.c + i), weighted = c * at.a;
      const Vec<double> slope = tube ? -weighted : -weighted * y;
      store(slopes + i, slope);
      total[SUM_LOSS] += c * kinked_at<FAMILY>(load(block.x + i), r);
      total[SUM_SMOOTH] += c * at.smooth;
      total[SUM_WEIGHT] += c;
      total[SUM_CURVATURE] += c * at.curvature;
      const Vec<double> zero = {};
      const Vec<double> linear = tube ? r.epsilon * absolute_lanes<double>(weighted) - weighted * y : -weighted;
      const Ints<double> positive = slope > 0.0, negative = slope < 0.0;
      used[i / LOSS_LANES] |= slope != 0.0;
      total[SUM_POSITIVE] += positive ? slope : zero;
      total[SUM_POSITIVE + 1] += positive ? linear : zero;
      total[SUM_NEGATIVE] += negative ? slope : zero;
      total[SUM_NEGATIVE + 1] += negative ? linear : zero;
      if constexpr (squared) {
        const Vec<double> quadratic = 0.25 * weighted * at.a;
        total[SUM_POSITIVE + 2] += positive ? quadratic : zero;
        total[SUM_NEGATIVE + 2] += negative ? quadratic : zero;
      }
    }
    for (int line = 0; line < LOSS_SUMS; line++) sums[line * k + output] += sum_of<double>(total[line]);
    unpack(slopes, block.count, g + start * k + output, k);
  }
  int64_t support = 0;
  for (int64_t i = 0; i < minimum<int64_t>(BLOCK_ROWS, rows.rows - start); i++)
    support -= used[i / LOSS_LANES][i % LOSS_LANES];
  return support;
}

}  // namespace LEVEL
