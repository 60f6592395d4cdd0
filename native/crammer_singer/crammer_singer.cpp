// The gradient is held by classes while rows are solved, so that a vector has rows: one pass updates it, finds the
// violations and the row of the largest.
#include "crammer_singer/crammer_singer.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<double>;
static_assert(JOINT_PADDING % WIDTH == 0);
constexpr double INFINITE = __builtin_inf();
// Of the largest K_ii, and of the loss's slope over the bound: a row without length has no curvature to bound its step, and a
// step of less than the slope's rounding error is none.
constexpr double LEAST_CURVATURE = 1e-8;
constexpr double AT_BOUND = 1e-12;        // relative distance from the bound that is rounding

struct Worst {
  double violation;
  int64_t row;
};

INLINE int64_t padded_rows(const JointRows& r) { return (r.rows + JOINT_PADDING - 1) / JOINT_PADDING * JOINT_PADDING; }

INLINE double rise_of(const JointRows& r, int64_t i, int64_t k) {
  return r.A[i * r.classes + k] < (k == r.label[i] ? r.bound[i] : 0.0) ? 0.0 : INFINITE;
}

// G_uk += change_k K_iu for all rows, and the largest violation; i < 0 changes nothing.
static Worst pass(const JointRows& r, int64_t i) {
  const int64_t size = padded_rows(r);
  const double* K = i < 0 ? r.K : r.K + i * r.rows;
  Vec<double> best = splat(-INFINITE);
  Ints<double> where = {}, here;
  for (int64_t lane = 0; lane < WIDTH; lane++) here[lane] = lane;
  for (int64_t u = 0; u < r.rows; u += WIDTH, here += WIDTH) {
    const Vec<double> kernel = u + WIDTH <= r.rows ? load(K + u) : load_first<double>(K + u, r.rows - u);
    Vec<double> largest = splat(-INFINITE), smallest = splat(INFINITE);
    for (int64_t k = 0; k < r.classes; k++) {
      double* at = r.by_class + k * size + u;
      Vec<double> g = load(at);
      if (i >= 0 && r.change[k] != 0.0) {
        g += r.change[k] * kernel;
        store(at, g);
      }
      largest = maximum(g, largest);
      smallest = minimum(Vec<double>(g + load(r.rise + k * size + u)), smallest);
    }
    const Vec<double> violation = largest - smallest;  // -infinity of padding, where nothing may rise
    const Ints<double> wins = violation > best;
    best = wins ? violation : best;
    where = wins ? here : where;
  }
  const double top = maximum_of<double>(best);
  int64_t row = r.rows;
  for (int64_t lane = 0; lane < WIDTH; lane++)
    if (best[lane] == top && where[lane] < row) row = where[lane];
  return {top, row < r.rows ? row : 0};
}

// The root of sum_k min(0, theta - D_k) + own = 0, from a theta on its left.
INLINE double root(const double* D, int64_t classes, int64_t skip, double theta, double own, double always) {
  for (int64_t pass = 0; pass <= classes; pass++) {
    double total = own, count = always;
    for (int64_t k = 0; k < classes; k++)
      if (k != skip && D[k] > theta) total += D[k], count += 1.0;
    const double next = count > 0.0 ? total / count : theta;
    if (!(next > theta)) return theta;
    theta = next;
  }
  return theta;
}

// r.row = the solution of row i for r.b and q.
static void solve_row(const JointRows& r, int64_t i, double q) {
  const int64_t label = r.label[i], n = r.classes;
  const double bound = r.bound[i], b_label = r.b[label];
  double theta, D_label = INFINITE;
  if (bound == INFINITE) {
    theta = root(r.b, n, label, b_label, b_label, 1.0);
  } else {
    D_label = b_label + q * bound;
    r.b[label] = D_label;
    double top = r.b[0];
    for (int64_t k = 1; k < n; k++) top = maximum(top, r.b[k]);
    theta = root(r.b, n, -1, top - q * bound, -q * bound, 0.0);
    r.b[label] = b_label;
  }
  double others = 0.0;
  for (int64_t k = 0; k < n; k++) {
    if (k == label) continue;
    r.row[k] = minimum(0.0, (theta - r.b[k]) / q);
    others -= r.row[k];
  }
  // Exactly at its bound, with the others to match.
  if (bound < INFINITE && (theta >= D_label || others >= bound * (1.0 - AT_BOUND)) && others > 0.0) {
    for (int64_t k = 0; k < n; k++)
      if (k != label) r.row[k] *= bound / others;
    others = bound;
  }
  r.row[label] = others;
}

// Moves row i; whether it changed.
static bool move(const JointRows& r, int64_t i, double floor) {
  const int64_t size = padded_rows(r), n = r.classes;
  double* A = r.A + i * n;
  const double q = maximum(r.K[i * r.rows + i], maximum(floor, LEAST_CURVATURE / r.bound[i]));
  for (int64_t k = 0; k < n; k++) r.b[k] = r.by_class[k * size + i] - q * A[k];
  solve_row(r, i, q);
  bool moved = false;
  for (int64_t k = 0; k < n; k++) {
    r.change[k] = r.row[k] - A[k];
    moved |= r.change[k] != 0.0;
    A[k] = r.row[k];
    r.rise[k * size + i] = rise_of(r, i, k);
  }
  return moved;
}

int64_t solve(const JointRows& r, double goal, int64_t max_steps) {
  const int64_t size = padded_rows(r), n = r.classes;
  double floor = 1e-300;
  for (int64_t u = 0; u < r.rows; u++) floor = maximum(floor, LEAST_CURVATURE * r.K[u * r.rows + u]);
  for (int64_t k = 0; k < n; k++)
    for (int64_t u = 0; u < size; u++) {
      r.by_class[k * size + u] = u < r.rows ? r.G[u * n + k] : 0.0;
      r.rise[k * size + u] = u < r.rows ? rise_of(r, u, k) : INFINITE;
    }
  int64_t step = 0;
  Worst worst = pass(r, -1);
  for (; step < max_steps && worst.violation > goal; step++) {
    if (!move(r, worst.row, floor)) break;
    worst = pass(r, worst.row);
  }
  for (int64_t u = 0; u < r.rows; u++)
    for (int64_t k = 0; k < n; k++) r.G[u * n + k] = r.by_class[k * size + u];
  return step;
}

const CrammerSingerTable crammer_singer_table = {solve};

}  // namespace LEVEL
