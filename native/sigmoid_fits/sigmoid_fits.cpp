#include "sigmoid_fits/sigmoid_fits.h"

#include "core/functions.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;
static_assert(WIDTH <= SIGMOID_PADDING);
constexpr int64_t MAX_NEWTON_STEPS = 100;
constexpr double GRADIENT_TOLERANCE = 1e-9;  // per unit of weight
constexpr double SMALLEST_STEP = 1e-10;      // of the search along a direction: below it rounding decides
constexpr double SUFFICIENT_DECREASE = 1e-4, RIDGE = 1e-12;

// log(1 + u) for u in [0, 1]: with f = u or, past sqrt 2, f = (u - 1) / 2 and log 2 added, it is 2 atanh(s), s = f / (2 + f),
// |s| < 0.172, whose series ends where terms are below a unit in the last place.
INLINE Vec<double> log_one_plus(Vec<double> u) {
  const Ints<double> large = u > 0.41421356237309503;
  const Vec<double> f = large ? 0.5 * (u - 1.0) : u, s = f / (f + 2.0), z = s * s;
  constexpr int TERMS = 11;
  Vec<double> series = splat(1.0 / (2 * TERMS + 1));
  unrolled<TERMS>([&](auto k) { series = series * z + 1.0 / (2 * (TERMS - 1 - k) + 1); });
  const Vec<double> value = 2.0 * s * series;
  return large ? value + 0.69314718055994531 : value;
}

struct Entropy {
  double loss, d_slope, d_offset, ss, so, oo;  // the value, its two derivatives, and its three second derivatives
};

static Entropy evaluate(const SigmoidFits& s, int64_t rows, double slope, double offset) {
  const Vec<double> zero = {}, one = splat(1.0);
  Vec<double> loss = {}, d_slope = {}, d_offset = {}, ss = {}, so = {}, oo = {};
  for (int64_t i = 0; i < rows; i += WIDTH) {
    const Vec<double> f = load(s.f + i), t = load(s.target + i), w = load(s.scaled_weight + i);
    const Vec<double> z = slope * f + offset, size = absolute_lanes<double>(z);
    const Vec<double> decay = exp2_in_range<double>(cut_below<double>(-1.4426950408889634 * size));
    const Vec<double> inverse = 1.0 / (1.0 + decay), p = (z >= 0.0 ? one : decay) * inverse;
    loss += w * (log_one_plus(decay) + maximum(z, zero) - t * z);
    const Vec<double> residual = w * (p - t), curvature = w * decay * inverse * inverse;
    d_slope += residual * f;
    d_offset += residual;
    ss += curvature * f * f;
    so += curvature * f;
    oo += curvature;
  }
  return {sum_of<double>(loss), sum_of<double>(d_slope), sum_of<double>(d_offset),
          sum_of<double>(ss),   sum_of<double>(so),      sum_of<double>(oo)};
}

struct Scaled {
  int64_t rows;
  double size, weight, flat;  // the largest |f|, the sum of weights, and the offset of slope 0
};

// Scaled values, targets and weights of a problem in scratch memory, with weights of zero up to a whole vector.
static Scaled prepare(const SigmoidFits& s, int64_t problem) {
  const int64_t start = s.starts[problem], rows = s.starts[problem + 1] - start;
  double up = 0.0, down = 0.0, size = 0.0, mean = 0.0;
  for (int64_t i = 0; i < rows; i++) {
    (s.positive[start + i] ? up : down) += s.weight[start + i];
    size = maximum(size, absolute(s.values[start + i]));
  }
  if (!(size > 0.0)) size = 1.0;
  const double weight = up + down, high = (up + 1.0) / (up + 2.0), low = 1.0 / (down + 2.0);
  for (int64_t i = 0; i < rows + SIGMOID_PADDING; i++) {
    const bool real = i < rows;
    s.f[i] = real ? s.values[start + i] / size : 0.0;
    s.target[i] = real ? (s.positive[start + i] ? high : low) : 0.0;
    s.scaled_weight[i] = real ? s.weight[start + i] : 0.0;
    mean += s.scaled_weight[i] * s.target[i];
  }
  mean = weight > 0.0 ? mean / weight : 0.5;
  return {rows, size, weight, __builtin_log(mean) - __builtin_log1p(-mean)};
}

// One step; whether it was the last. `rows` counts evaluations.
static bool newton_step(const SigmoidFits& s, int64_t problem, const Scaled& scaled, Entropy& now, int64_t& rows) {
  double &slope = s.slope[problem], &offset = s.offset[problem];
  if (maximum(absolute(now.d_slope), absolute(now.d_offset)) <= GRADIENT_TOLERANCE * scaled.weight) return true;
  const double ridge = RIDGE * (1.0 + now.ss + now.oo), ss = now.ss + ridge, oo = now.oo + ridge;
  const double determinant = ss * oo - now.so * now.so;
  const double by_slope = (now.so * now.d_offset - oo * now.d_slope) / determinant;
  const double by_offset = (now.so * now.d_slope - ss * now.d_offset) / determinant;
  const double down = now.d_slope * by_slope + now.d_offset * by_offset;
  for (double step = 1.0; step >= SMALLEST_STEP; step *= 0.5) {
    const Entropy next = evaluate(s, scaled.rows, slope + step * by_slope, offset + step * by_offset);
    rows += scaled.rows;
    if (next.loss <= now.loss + SUFFICIENT_DECREASE * step * down) {
      slope += step * by_slope;
      offset += step * by_offset;
      now = next;
      return ++s.steps[problem] >= MAX_NEWTON_STEPS;
    }
  }
  return true;  // rounding decides: this is the minimum
}

int64_t fit(const SigmoidFits& s, int64_t first, int64_t max_rows) {
  int64_t rows = 0;
  for (int64_t problem = first; problem < s.problems; problem++) {
    if (rows >= max_rows) return problem;
    const Scaled scaled = prepare(s, problem);
    if (s.steps[problem] == 0) s.slope[problem] = 0.0, s.offset[problem] = scaled.flat;
    Entropy now = evaluate(s, scaled.rows, s.slope[problem], s.offset[problem]);
    rows += 2 * scaled.rows + 1;
    while (!newton_step(s, problem, scaled, now, rows))
      if (rows >= max_rows) return problem;
    const bool rising = s.slope[problem] > 0.0;
    s.slope[problem] = rising ? s.slope[problem] / scaled.size : 0.0;
    s.offset[problem] = rising ? s.offset[problem] : scaled.flat;
  }
  return s.problems;
}

const SigmoidFitsTable sigmoid_fits_table = {fit};

}  // namespace LEVEL
