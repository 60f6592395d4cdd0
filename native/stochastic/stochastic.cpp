#include "stochastic/stochastic.h"

#include "design/rows.h"
#include "losses/row_loss.h"

namespace LEVEL {

constexpr double SMALLEST_FACTOR = 1e-9;  // s below which it is multiplied out

// u <- s u; what the average has of the past is put aside.
void multiply_out(double* u, double* late, double* total, int64_t size, const StepsState& S) {
  for (int64_t j = 0; j < size; j++) {
    total[j] += S.late * u[j] - late[j];
    late[j] = 0.0;
    u[j] *= S.s;
  }
}

template <class Rows>
bool steps_rows(const Rows& X, StepsState& S, const int64_t* drawn, int64_t steps, int64_t batch, const double* eta, double* hit) {
  const LossesView& P = S.losses;
  const int64_t n = S.X.rows;
  for (int64_t k = 0; k < steps; k++) {
    const int64_t* rows = drawn + k * batch;
    for (int64_t r = 0; r < batch; r++) {
      const int64_t i = rows[r];
      const double value = S.s * (X.dot(i, S.u) + S.rho * S.sum) + S.b, out = outside(P.y[i] - value, P.eps);
      hit[r] = S.weight[i] > 0.0 ? row_derivative(out, P.above[i], P.below[i], P.squared) / S.weight[i] : 0.0;
    }
    S.s *= 1.0 - eta[k];
    if (absolute(S.s) < SMALLEST_FACTOR) {
      multiply_out(S.u, S.late_u, S.sum_u, S.X.columns, S);
      multiply_out(S.v, S.late_v, S.sum_v, n, S);
      S.norm *= S.s * S.s;
      S.sum *= S.s;
      S.s = 1.0, S.late = 0.0;
    }
    for (int64_t r = 0; r < batch; r++) {
      if (hit[r] == 0.0) continue;
      const int64_t i = rows[r];
      const double beta = eta[k] * S.total * hit[r] / double(batch), move = beta / S.s;
      if (S.radius < INFINITE) S.norm += move * (2.0 * X.dot(i, S.u) + move * S.squares[i]);
      X.add(i, move, S.u);
      X.add(i, S.late * move, S.late_u);
      S.v[i] += move;
      S.late_v[i] += S.late * move;
      S.sum += move;
      if (S.free) {  // no longer steps than 1/n: nothing shrinks an intercept that went astray
        const double longest = S.total * hit[r] / double(batch * n);
        S.b += absolute(beta) < absolute(longest) ? beta : longest;
      }
    }
    if (S.s * S.s * S.norm > S.radius * S.radius) S.s = S.radius / square_root(S.norm);
    S.t += 1.0;
    S.late += S.t * S.s;
  }
  double check = S.s + S.b + S.sum + S.late;
  for (int64_t j = 0; j < S.X.columns; j++) check += S.u[j] - S.late_u[j];
  return check - check == 0.0;
}
bool steps(StepsState& S, const int64_t* drawn, int64_t count, int64_t batch, const double* eta, double* hit) {
  return with_rows(S.X, [&](auto X) { return steps_rows(X, S, drawn, count, batch, eta, hit); });
}

const StochasticTable stochastic_table = {steps};

}  // namespace LEVEL
