#include "interior/interior.h"

#include "losses/row_loss.h"

namespace LEVEL {

// One variable's numbers by their names.
struct Variable {
  double *A, *B, *z, *x, *theta, *da, *dz, *dx, *base;
};
INLINE Variable variable(const InteriorState& S, int64_t side, int64_t i) {
  const int64_t plane = S.sides * S.rows, at = side * S.rows + i;
  double* s = S.state + at;
  return {s, s + plane, s + 2 * plane, s + 3 * plane, s + 4 * plane, s + 5 * plane, s + 6 * plane, s + 7 * plane, s + 8 * plane};
}
template <class F> INLINE void each_variable(const InteriorState& S, int64_t start, int64_t stop, F&& f) {
  for (int64_t side = 0; side < S.sides; side++)
    for (int64_t i = start; i < stop; i++) f(variable(S, side, i), side, i);
}
INLINE double larger(double a, double b) { return (a > b) | (a != a) ? a : b; }  // NaN stays

void begin(const InteriorState& S, double offset, double size, bool by_room) {
  each_variable(S, 0, S.rows, [&](Variable v, int64_t side, int64_t i) {
    const int64_t at = side * S.rows + i;
    const double slope = S.f[i] + S.p[at] + S.ridge[i] * S.a[at] - offset;
    const double A = S.a[at] - S.lower[at], B = S.upper[at] - S.a[at];
    *v.A = A, *v.B = B;
    const double least = by_room ? minimum(A, B) : 0.0;
    *v.z = A < INFINITE ? maximum(slope, 0.0) + size * (by_room ? least / A : 1.0) : 0.0;
    *v.x = B < INFINITE ? maximum(-slope, 0.0) + size * (by_room ? least / B : 1.0) : 0.0;
    *v.da = *v.dz = *v.dx = 0.0;
  });
}

void even_out(const InteriorState& S, double least, bool together) {
  each_variable(S, 0, S.rows, [&](Variable v, int64_t, int64_t) {
    double more_z = *v.z > 0.0 ? maximum(least / *v.A - *v.z, 0.0) : 0.0;
    double more_x = *v.x > 0.0 ? maximum(least / *v.B - *v.x, 0.0) : 0.0;
    if (together) more_z = more_x = maximum(more_z, more_x);
    if (*v.z > 0.0) *v.z += more_z;
    if (*v.x > 0.0) *v.x += more_x;
  });
}

// In t = (A - B) / c, c = A + B, the conditions are t = k (1 - t^2) with k = -c slope / 4 mu; the smaller room is
// c (1 - |t|) / 2, and 1 - t^2 = t / k keeps its digits where |t| is nearly one.
void centre(const InteriorState& S, double offset, double mu) {
  each_variable(S, 0, S.rows, [&](Variable v, int64_t side, int64_t i) {
    const int64_t at = side * S.rows + i;
    const double c = S.upper[at] - S.lower[at], slope = S.f[i] + S.p[at] - offset, k = -slope * c / (4.0 * mu);
    const double t = 2.0 * k / (1.0 + square_root(1.0 + 4.0 * k * k));
    const double room = 0.5 * c * (absolute(k) > 1e-8 ? absolute(t / k) / (1.0 + absolute(t)) : 1.0 - absolute(t));
    *v.A = t > 0.0 ? c - room : room;
    *v.B = t > 0.0 ? room : c - room;
    *v.z = mu / *v.A, *v.x = mu / *v.B;
    S.a[at] = *v.A < *v.B ? S.lower[at] + *v.A : S.upper[at] - *v.B;
    S.beta[i] = (side ? S.beta[i] : 0.0) + S.a[at];
  });
}

// Sums and extremes over variables in PARTS parts side by side, which are joined at the end: the order of a sum depends on
// the range of rows only, and the compiler may use vectors.
constexpr int64_t PARTS = 8;
template <class F> INLINE void in_parts(int64_t start, int64_t stop, F&& f) {
  int64_t i = start;
  for (; i + PARTS <= stop; i += PARTS)
    for (int64_t lane = 0; lane < PARTS; lane++) f(i + lane, lane);
  for (int64_t lane = 0; i < stop; i++, lane++) f(i, lane);
}
INLINE double sum_of(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}
INLINE double largest_of(const double* lanes) {
  double most = 0.0;
  for (int64_t lane = 0; lane < PARTS; lane++) most = larger(lanes[lane], most);
  return most;
}

// The planes of one side of the variables.
struct Side {
  const double *__restrict p, *__restrict a;
  double *__restrict A, *__restrict B, *__restrict z, *__restrict x, *__restrict theta, *__restrict da, *__restrict dz,
      *__restrict dx, *__restrict base;
};
INLINE Side side_of(const InteriorState& S, int64_t side) {
  const Variable v = variable(S, side, 0);
  return {S.p + side * S.rows, S.a + side * S.rows, v.A, v.B, v.z, v.x, v.theta, v.da, v.dz, v.dx, v.base};
}

void weigh(const InteriorState& S, int64_t start, int64_t stop, double offset, double* q, double* T) {
  for (int64_t side = 0; side < S.sides; side++) {
    const Side v = side_of(S, side);
    const double *__restrict f = S.f, *__restrict ridge = S.ridge;
    if (side == 0)
      for (int64_t k = 0; k < stop - start; k++) q[k] = T[k] = 0.0;
    double *__restrict to_q = q - start, *__restrict to_T = T - start;
    for (int64_t i = start; i < stop; i++) {
      const double theta = 1.0 / (v.z[i] / v.A[i] + v.x[i] / v.B[i] + ridge[i]);
      const double base = offset - v.p[i] - f[i] - ridge[i] * v.a[i];
      v.theta[i] = theta, v.base[i] = base;
      to_q[i] += theta * base;
      to_T[i] += theta;
    }
  }
}

Blocked predict(const InteriorState& S, int64_t start, int64_t stop, const double* df, double dlambda, double* q0, double* q1) {
  double blocked[PARTS] = {}, first[PARTS] = {}, second[PARTS] = {}, third[PARTS] = {};
  for (int64_t side = 0; side < S.sides; side++) {
    const Side v = side_of(S, side);
    if (side == 0)
      for (int64_t k = 0; k < stop - start; k++) q0[k] = q1[k] = 0.0;
    const double* __restrict change = df - start;
    double *__restrict to_q0 = q0 - start, *__restrict to_q1 = q1 - start;
    in_parts(start, stop, [&](int64_t i, int64_t lane) {
      const double A = v.A[i], B = v.B[i], z = v.z[i], x = v.x[i], theta = v.theta[i];
      const bool below = z > 0.0, above = x > 0.0;  // whether there is a bound
      const double inverse_A = below ? 1.0 / A : 0.0, inverse_B = above ? 1.0 / B : 0.0;
      const double da = theta * (v.base[i] + dlambda - change[i]), relative_A = da * inverse_A, relative_B = -da * inverse_B;
      const double dz = -z - z * relative_A, dx = -x - x * relative_B;
      const double by_z = below ? -dz / z : 0.0, by_x = above ? -dx / x : 0.0;
      blocked[lane] = larger(larger(-relative_A, by_z), blocked[lane]);
      blocked[lane] = larger(larger(-relative_B, by_x), blocked[lane]);
      const double room_A = below ? A : 0.0, room_B = above ? B : 0.0;
      first[lane] += room_A * z + room_B * x;
      second[lane] += (room_A * dz + da * z) + (room_B * dx - da * x);
      third[lane] += da * dz - da * dx;
      to_q0[i] += theta * (v.base[i] - relative_A * dz + relative_B * dx);
      to_q1[i] += theta * (inverse_A - inverse_B);
    });
  }
  return {largest_of(blocked), sum_of(first), sum_of(second), sum_of(third)};
}

double direct(const InteriorState& S, int64_t start, int64_t stop, const double* predicted, double dpredicted,
              const double* df, double dlambda, double mu, bool corrected) {
  double blocked[PARTS] = {};
  const double part = corrected ? 1.0 : 0.0;
  const double *__restrict before = predicted - start, *__restrict change = df - start;
  for (int64_t side = 0; side < S.sides; side++) {
    const Side v = side_of(S, side);
    in_parts(start, stop, [&](int64_t i, int64_t lane) {
      const double A = v.A[i], B = v.B[i], z = v.z[i], x = v.x[i], theta = v.theta[i], base = v.base[i];
      const bool below = z > 0.0, above = x > 0.0;
      const double inverse_A = below ? 1.0 / A : 0.0, inverse_B = above ? 1.0 / B : 0.0;
      const double guess = part * (theta * (base + dpredicted - before[i]));
      const double to_A = mu - guess * (-z - z * guess * inverse_A), to_B = mu + guess * (-x + x * guess * inverse_B);
      const double da = theta * (base + to_A * inverse_A - to_B * inverse_B + dlambda - change[i]);
      const double dz = below ? (to_A - z * da) * inverse_A - z : 0.0, dx = above ? (to_B + x * da) * inverse_B - x : 0.0;
      v.da[i] = da, v.dz[i] = dz, v.dx[i] = dx;
      const double by_z = below ? -dz / z : 0.0, by_x = above ? -dx / x : 0.0;
      blocked[lane] = larger(larger(-da * inverse_A, by_z), blocked[lane]);
      blocked[lane] = larger(larger(da * inverse_B, by_x), blocked[lane]);
    });
  }
  return largest_of(blocked);
}

Products products(const InteriorState& S, double step) {
  double total[PARTS] = {}, count[PARTS] = {}, least[PARTS];
  for (int64_t lane = 0; lane < PARTS; lane++) least[lane] = INFINITE;
  for (int64_t side = 0; side < S.sides; side++) {
    const Side v = side_of(S, side);
    in_parts(0, S.rows, [&](int64_t i, int64_t lane) {
      const bool below = v.z[i] > 0.0, above = v.x[i] > 0.0;
      const double at_A = (v.A[i] + step * v.da[i]) * (v.z[i] + step * v.dz[i]);
      const double at_B = (v.B[i] - step * v.da[i]) * (v.x[i] + step * v.dx[i]);
      total[lane] += (below ? at_A : 0.0) + (above ? at_B : 0.0);
      count[lane] += (below ? 1.0 : 0.0) + (above ? 1.0 : 0.0);
      const double one = below ? at_A : INFINITE, other = above ? at_B : INFINITE;
      const double smaller = one < other ? one : other;
      least[lane] = smaller < least[lane] ? smaller : least[lane];
    });
  }
  Products out{sum_of(total), sum_of(count), INFINITE};
  for (int64_t lane = 0; lane < PARTS; lane++) out.least = minimum(least[lane], out.least);
  return out;
}

// Each room is a number of its own: as the difference of a and its bound it would lose its digits.
bool advance(const InteriorState& S, const double* df, double step) {
  bool fine = true;
  each_variable(S, 0, S.rows, [&](Variable v, int64_t side, int64_t i) {
    const int64_t at = side * S.rows + i;
    const double da = step * *v.da;
    *v.A += da, *v.B -= da;
    *v.z += step * *v.dz, *v.x += step * *v.dx;
    if (*v.A == INFINITE && *v.B == INFINITE)
      S.a[at] += da;
    else
      S.a[at] = *v.A < *v.B ? S.lower[at] + *v.A : S.upper[at] - *v.B;
    S.beta[i] = (side ? S.beta[i] : 0.0) + S.a[at];
    fine = fine && *v.A > 0.0 && *v.B > 0.0 && S.a[at] - S.a[at] == 0.0;
  });
  for (int64_t i = 0; df && i < S.rows; i++) {
    S.f[i] += step * df[i];
    fine = fine && S.f[i] - S.f[i] == 0.0;
  }
  return fine;
}

const InteriorTable interior_table = {begin, even_out, centre, weigh, predict, direct, products, advance};

}  // namespace LEVEL
