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
INLINE double larger(double a, double b) { return a > b || a != a ? a : b; }  // NaN stays

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

void weigh(const InteriorState& S, int64_t start, int64_t stop, double offset, double* q, double* T) {
  each_variable(S, start, stop, [&](Variable v, int64_t side, int64_t i) {
    const int64_t at = side * S.rows + i, k = i - start;
    const double theta = 1.0 / (*v.z / *v.A + *v.x / *v.B + S.ridge[i]);
    const double base = offset - S.p[at] - S.f[i] - S.ridge[i] * S.a[at];
    *v.theta = theta, *v.base = base;
    q[k] = (side ? q[k] : 0.0) + theta * base;
    T[k] = (side ? T[k] : 0.0) + theta;
  });
}

Blocked predict(const InteriorState& S, int64_t start, int64_t stop, const double* df, double dlambda, double* q0, double* q1) {
  Blocked out{};
  each_variable(S, start, stop, [&](Variable v, int64_t side, int64_t i) {
    const int64_t k = i - start;
    const double theta = *v.theta, da = theta * (*v.base + dlambda - df[k]);
    double corrected = *v.base, slope = 0.0;
    const auto one = [&](double A, double z, double dA, double sign) {
      if (!(z > 0.0)) return;
      const double dz = -z - z * dA / A;
      out.blocked = larger(larger(-dA / A, -dz / z), out.blocked);
      out.first += A * z;
      out.second += A * dz + dA * z;
      out.third += dA * dz;
      corrected -= sign * dA * dz / A;
      slope += sign / A;
    };
    one(*v.A, *v.z, da, 1.0);
    one(*v.B, *v.x, -da, -1.0);
    q0[k] = (side ? q0[k] : 0.0) + theta * corrected;
    q1[k] = (side ? q1[k] : 0.0) + theta * slope;
  });
  return out;
}

double direct(const InteriorState& S, int64_t start, int64_t stop, const double* predicted, double dpredicted,
              const double* df, double dlambda, double mu, bool corrected) {
  double blocked = 0.0;
  each_variable(S, start, stop, [&](Variable v, int64_t, int64_t i) {
    const int64_t k = i - start;
    const double A = *v.A, B = *v.B, z = *v.z, x = *v.x, theta = *v.theta;
    double to_A = mu, to_B = mu, r = *v.base;
    if (corrected) {
      const double da = theta * (r + dpredicted - predicted[k]);
      to_A -= da * (-z - z * da / A);
      to_B += da * (-x + x * da / B);
    }
    if (z > 0.0) r += to_A / A;
    if (x > 0.0) r -= to_B / B;
    const double da = theta * (r + dlambda - df[k]);
    *v.da = da, *v.dz = *v.dx = 0.0;
    if (z > 0.0) {
      *v.dz = (to_A - z * da) / A - z;
      blocked = larger(larger(-da / A, -*v.dz / z), blocked);
    }
    if (x > 0.0) {
      *v.dx = (to_B + x * da) / B - x;
      blocked = larger(larger(da / B, -*v.dx / x), blocked);
    }
  });
  return blocked;
}

Products products(const InteriorState& S, double step) {
  Products out{0.0, 0.0, INFINITE};
  each_variable(S, 0, S.rows, [&](Variable v, int64_t, int64_t) {
    const auto one = [&](double A, double dA, double z, double dz) {
      if (!(z > 0.0)) return;
      const double product = (A + step * dA) * (z + step * dz);
      out.total += product;
      out.count += 1.0;
      out.least = minimum(product, out.least);
    };
    one(*v.A, *v.da, *v.z, *v.dz);
    one(*v.B, -*v.da, *v.x, *v.dx);
  });
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
