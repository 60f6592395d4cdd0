// A vector of rows passes all classes: first for the largest score, then for the sums.
#include "temperature/temperature.h"

#include "core/functions.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;

void derivatives(const TemperatureRows& r, double slope, double* first, double* second) {
  const double exponent = 1.4426950408889634 * slope;  // exp(slope x) = 2^(exponent x)
  Vec<double> d_one = {}, d_two = {};
  for (int64_t i = 0; i < r.rows; i += WIDTH) {
    const double* rows[WIDTH];
    Vec<double> own = {}, weight = {};  // rows past the end repeat the last one, with weight zero
    for (int64_t lane = 0; lane < WIDTH; lane++) {
      const bool real = i + lane < r.rows;
      rows[lane] = r.scores + (real ? i + lane : r.rows - 1) * r.classes;
      own[lane] = real ? r.own[i + lane] : 0.0;
      weight[lane] = real ? r.weight[i + lane] : 0.0;
    }
    const auto scores = [&](int64_t k) {
      Vec<double> s;
      for (int64_t lane = 0; lane < WIDTH; lane++) s[lane] = rows[lane][k];
      return s;
    };
    Vec<double> top = scores(0), total = {}, by_one = {}, by_two = {};
    for (int64_t k = 1; k < r.classes; k++) top = maximum(top, scores(k));
    for (int64_t k = 0; k < r.classes; k++) {
      const Vec<double> low = scores(k) - top;
      const Vec<double> power = exp2_in_range<double>(cut_below<double>(exponent * low));
      total += power;
      by_one += power * low;
      by_two += power * low * low;
    }
    const Vec<double> mean = by_one / total;
    d_one += weight * (mean + top - own);
    d_two += weight * (by_two / total - mean * mean);
  }
  *first += sum_of<double>(d_one);
  *second += sum_of<double>(d_two);
}

const TemperatureTable temperature_table = {derivatives};

}  // namespace LEVEL
