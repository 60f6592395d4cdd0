#include "batch/lattice.h"

#include <algorithm>
#include <cmath>

namespace batch {
namespace {

constexpr int64_t SAMPLE_ROWS = 64;
constexpr double ROUNDING = 1e-6;        // of the largest difference: what remains of a difference by float32 rounding
constexpr double LEAST_STEP = 1.0 / 32767;  // of the largest difference: larger multiples do not fit into two bytes

// The greatest common divisor of two real numbers up to `rounding` (Euclid).
double common_divisor(double a, double b, double rounding) {
  while (b > rounding) {
    double rest = std::fmod(a, b);
    if (b - rest <= rounding) rest = 0;
    a = b, b = rest;
  }
  return a;
}

template <class T> Lattice lattice_of_rows(const T* X, const Points& p, const Segments& g) {
  const int64_t rows = g.start[g.count], every = std::max<int64_t>(1, rows / SAMPLE_ROWS);
  const T* first = X + g.order[0] * p.d;
  double largest = 0;
  for (int64_t t = every; t < rows; t += every)
    for (int64_t q = 0; q < p.d; q++)
      largest = std::max(largest, std::fabs(double(X[g.order[t] * p.d + q]) - double(first[q])));
  if (!(largest > 0) || !std::isfinite(largest)) return {};
  double step = largest;
  for (int64_t t = every; t < rows; t += every)
    for (int64_t q = 0; q < p.d; q++) {
      const double apart = std::fabs(double(X[g.order[t] * p.d + q]) - double(first[q]));
      if (apart <= ROUNDING * largest) continue;
      step = common_divisor(std::max(step, apart), std::min(step, apart), ROUNDING * largest);
      if (step < LEAST_STEP * largest) return {};
    }
  return {largest / std::round(largest / step), g.order[0]};
}

}  // namespace

Lattice lattice_of(const Points& p, const Segments& g) {
  if (p.dense64) return lattice_of_rows(p.dense64, p, g);
  return lattice_of_rows(p.dense32, p, g);
}

}  // namespace batch
