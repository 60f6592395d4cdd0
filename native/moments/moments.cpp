#include "moments/moments.h"

#include "core/simd.h"

namespace LEVEL {

constexpr double CENTRE_ROUNDING = 1e-12;  // of the centre: distances that are rounding drag nothing away

// sum_k term(x_k) of one row: four sums hide the latency of an addition, whatever the level.
template <class T, class Term> INLINE double row_sum(const T* x, int64_t d, Term term) {
  double sum[4] = {};
  int64_t k = 0;
  for (; k + 4 <= d; k += 4) unrolled<4>([&](auto j) { sum[j] += term(double(x[k + j]), k + j); });
  for (; k < d; k++) sum[0] += term(double(x[k]), k);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <class T>
double power_sum(const T* X, const double* weights, int64_t n, int64_t d, double centre, bool squares) {
  double total = 0;
  for (int64_t i = 0; i < n; i++, X += d)
    total += weights[i] * (squares ? row_sum(X, d, [=](double x, int64_t) { return (x - centre) * (x - centre); })
                                   : row_sum(X, d, [=](double x, int64_t) { return x - centre; }));
  return total;
}

// Two rows at a time: out is read and written once for both.
template <class T> void column_sums(const T* X, const double* weights, int64_t n, int64_t d, double* __restrict out) {
  int64_t i = 0;
  for (; i + 2 <= n; i += 2, X += 2 * d) {
    const double v = weights[i], w = weights[i + 1];
    for (int64_t k = 0; k < d; k++) out[k] += v * double(X[k]) + w * double(X[d + k]);
  }
  for (int64_t k = 0; i < n && k < d; k++) out[k] += weights[i] * double(X[k]);
}

template <class T> void row_distances(const T* X, const double* centre, int64_t n, int64_t d, double* out) {
  for (int64_t i = 0; i < n; i++, X += d)
    out[i] = row_sum(X, d, [=](double x, int64_t k) { return (x - centre[k]) * (x - centre[k]); });
}

// The weighted median of the values[0..n), lane by lane; NaN is never chosen.
static Vec<double> median(const Vec<double>* values, const double* weights, int64_t n, double half) {
  Vec<double> best = splat<double>(__builtin_inf());
  for (int64_t i = 0; i < n; i++) {
    Vec<double> below{};
    for (int64_t j = 0; j < n; j++) below += values[j] <= values[i] ? splat<double>(weights[j]) : Vec<double>{};
    best = below >= splat<double>(half) ? minimum(values[i], best) : best;
  }
  return best;
}

// Whether median |column - given| <= factor median |column - middle| without a doubt, in the first `lanes` of them. By
// Markov's inequality half of the weight lies within t, twice the mean distance from `given`; if less than half lies within
// t / factor of `middle`, the second median is larger than that.
static bool surely_near(const Vec<double>* column, const double* weights, int64_t n, double total, Vec<double> given,
                        Vec<double> middle, double factor, int64_t lanes) {
  Vec<double> sum{}, within{};
  for (int64_t i = 0; i < n; i++) sum += weights[i] * absolute_lanes<double>(column[i] - given);
  const Vec<double> reach = 2 * (1 + CENTRE_ROUNDING) * sum / (total * factor);
  for (int64_t i = 0; i < n; i++)
    within += absolute_lanes<double>(column[i] - middle) <= reach ? splat<double>(weights[i]) : Vec<double>{};
  const auto sure = within < splat<double>(0.5 * (1 - CENTRE_ROUNDING) * total);
  for (int64_t lane = 0; lane < lanes; lane++)
    if (!sure[lane]) return false;
  return true;
}

static void robust_centre(const double* X, const double* weights, int64_t n, int64_t d, double factor, double* centre,
                          double* scratch) {
  Vec<double>*column = reinterpret_cast<Vec<double>*>(scratch), *apart = column + n;
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += weights[i];
  for (int64_t k = 0; k < d; k += LANES<double>) {
    const int64_t count = minimum<int64_t>(LANES<double>, d - k);
    const auto part = [&](const double* p) { return count == LANES<double> ? load(p) : load_first(p, count); };
    const Vec<double> given = part(centre + k);
    const auto distance_from = [&](Vec<double> point) {
      for (int64_t i = 0; i < n; i++) apart[i] = absolute_lanes<double>(column[i] - point);
      return median(apart, weights, n, 0.5 * total);
    };
    for (int64_t i = 0; i < n; i++) column[i] = part(X + i * d + k);
    const Vec<double> middle = median(column, weights, n, 0.5 * total);
    if (surely_near(column, weights, n, total, given, middle, factor, count)) continue;
    const Vec<double> far = distance_from(given), near = distance_from(middle);
    const Vec<double> allowed = factor * near + CENTRE_ROUNDING * absolute_lanes<double>(given);
    store_first(centre + k, far <= allowed ? given : middle, count);
  }
}

template <class T> constexpr MomentsFunctions<T> MOMENTS_FUNCTIONS = {power_sum<T>, column_sums<T>, row_distances<T>};

const MomentsTable moments_table = {
    {MOMENTS_FUNCTIONS<float>, MOMENTS_FUNCTIONS<double>}, robust_centre, LANES<double>};

}  // namespace LEVEL
