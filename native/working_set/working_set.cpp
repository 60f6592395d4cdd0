#include "working_set/working_set.h"

#include "core/simd.h"

namespace LEVEL {

constexpr double KEPT_MAX_SHARE = 0.85;      // of W: free variables of the last round
constexpr double WORST_SHARE = 0.02;         // of a side's quota: its worst violators; the rest is spread over all of them
constexpr int64_t WORST_MIN_VARIABLES = 16;  // but at least so many

static bool is_finite(double x) { return x - x == 0; }

static double sides(const BoxVariables& x, VariableList list, int64_t groups, bool zero_offset, double* middle,
                    double* rise, double* fall) {
  const double infinity = __builtin_inf();
  for (int64_t k = 0; k < groups; k++)
    rise[k] = zero_offset ? 0.0 : infinity, fall[k] = zero_offset ? 0.0 : -infinity;
  const auto include = [&](int64_t v, double& low, double& high) {
    low = minimum(x.a[v] < x.upper[v] ? x.g[v] : infinity, low);
    high = maximum(x.a[v] > x.lower[v] ? x.g[v] : -infinity, high);
  };
  if (groups == 1) {  // in registers
    double low = rise[0], high = fall[0];
    for (int64_t t = 0; t < list.count; t++) include(list.ids[t], low, high);
    rise[0] = low, fall[0] = high;
  } else {
    for (int64_t t = 0; t < list.count; t++) include(list.ids[t], rise[x.group[list.ids[t]]], fall[x.group[list.ids[t]]]);
  }
  double violation = 0;
  for (int64_t k = 0; k < groups; k++) {
    violation = maximum(fall[k] - rise[k], violation);
    const bool up = is_finite(rise[k]), down = is_finite(fall[k]);
    middle[k] = up && down ? 0.5 * (rise[k] + fall[k]) : up ? rise[k] : down ? fall[k] : 0.0;
  }
  return violation;
}

static void excess(const BoxVariables& x, VariableList list, const double* middle, double* out) {
  for (int64_t t = 0; t < list.count; t++) {
    const int64_t v = list.ids[t];
    const double above = x.g[v] - middle[x.group[v]];
    double value = -__builtin_inf();
    if (x.a[v] < x.upper[v]) value = -above;
    if (x.a[v] > x.lower[v]) value = maximum(above, value);
    out[t] = value;
  }
}

// The k-th smallest value, counted from 0, by Hoare's selection (1961); the values are reordered.
static double kth_smallest(double* values, int64_t count, int64_t k) {
  int64_t low = 0, high = count - 1;
  while (low < high) {
    const double pivot = values[(low + high) / 2];
    int64_t i = low, j = high;
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i <= j) {
        const double other = values[i];
        values[i++] = values[j], values[j--] = other;
      }
    }
    if (k <= j)
      high = j;
    else if (k >= i)
      low = i;
    else
      break;
  }
  return values[k];
}

// One side of one group: key is smallest for the worst violator, and at the variables that do not violate not below limit.
struct Side {
  const double* key;
  const int64_t* at;
  int64_t count;
  double limit;
};
// Takes `quota` variables of a side: the worst ones, or if it is crowded, with more violators than that, a few of the
// worst and others spread over all of them. Returns how many were taken.
static int64_t take(const Side& side, int64_t quota, bool crowded, int64_t start, const ChooseScratch& s, int64_t* W) {
  int64_t worst = quota, got = 0;
  if (crowded) worst = minimum(quota, maximum(WORST_MIN_VARIABLES, int64_t(WORST_SHARE * double(quota))));
  double threshold = __builtin_inf();
  if (side.count > worst) {
    __builtin_memcpy(s.copy, side.key, size_t(side.count) * sizeof(double));
    threshold = kth_smallest(s.copy, side.count, worst - 1);
  }
  const auto add = [&](int64_t t) { W[got++] = side.at[t], s.taken[side.at[t]] = 1; };
  // Equal values at the threshold come after smaller ones: they must not crowd out the worst pair.
  for (int64_t t = 0; t < side.count && got < worst; t++)
    if (side.key[t] < threshold) add(t);
  for (int64_t t = 0; t < side.count && got < worst; t++)
    if (side.key[t] == threshold && !s.taken[side.at[t]]) add(t);
  if (crowded)
    for (int64_t r = 0; r < side.count && got < quota; r++) {
      const int64_t t = (r + start) % side.count;
      if (!s.taken[side.at[t]]) add(t);
    }
  return got;
}

static int64_t choose(const BoxVariables& x, const ChooseRequest& request, const ChooseScratch& s, int64_t* W) {
  int64_t count = 0, sides_left = 2 * request.groups;
  for (int64_t t = 0; t < request.previous.count; t++) {
    const int64_t v = request.previous.ids[t];
    if (double(count) < KEPT_MAX_SHARE * double(request.size) && !s.taken[v] && x.lower[v] < x.a[v] &&
        x.a[v] < x.upper[v])
      W[count++] = v, s.taken[v] = 1;
  }
  for (int64_t k = 0; k < request.groups; k++)
    for (int up = 1; up >= 0; up--) {
      const int64_t quota = maximum(int64_t(1), (request.size - count) / sides_left--);
      Side side{s.key, s.at, 0, up ? request.middle[k] : -request.middle[k]};
      // Violators first: where they suffice, which is usual, the other variables are not looked at again.
      const auto collect = [&](bool violators) {
        for (int64_t t = 0; t < request.candidates.count; t++) {
          const int64_t v = request.candidates.ids[t];
          const double key = up ? x.g[v] : -x.g[v];
          const bool movable = up ? x.a[v] < x.upper[v] : x.a[v] > x.lower[v];
          // Without branches, which nobody could predict: one place more is always written.
          s.key[side.count] = key, s.at[side.count] = v;
          side.count += movable & ((key < side.limit) == violators) & !s.taken[v] & (x.group[v] == k);
        }
      };
      collect(true);
      const bool crowded = side.count > quota;
      if (side.count < quota) collect(false);
      count += take(side, quota, crowded, request.start, s, W + count);
    }
  return count;
}

const WorkingSetTable working_set_table = {sides, excess, choose};

}  // namespace LEVEL
