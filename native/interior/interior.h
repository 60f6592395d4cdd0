// Passes over the rows of an interior-point method for the dual of a linear model (Mehrotra 1992).
//
// A row has one variable a (its beta_i), or two, one per side of its tube, whose sum is beta_i: `sides` variables, each in
// [lower, upper] with the linear term p. Rooms A = a - lower and B = upper - a, their multipliers z and x (zero where there
// is no bound). Newton steps towards A z = B x = mu ask for
//
//     da = theta (base + corr + dlambda - df),     theta = 1 / (z/A + x/B + ridge),     base = lambda - p - f - ridge a,
//     corr = (mu - cA)/A - (mu - cB)/B,            cA = dA dz, cB = dB dx of the predictor (mu = 0)
//
// with df the change of the row's value f. So  sum_sides da = q + T (dlambda - df),  q = sum theta (base + corr),
// T = sum theta: what a system in the rows has to know.
//
//     begin      rooms, and z - x = slope; `by_room`: each multiplier larger for the smaller room where they are not equal
//     even_out   multipliers raised until no product is below `least`; `together`: both of a variable by as much
//     centre     A z = B x = mu exactly, z - x = slope (bounded variables without ridge)
//     weigh      theta, base, q and T
//     predict    da with mu = 0; q = q0 + mu q1 of the corrected step; what blocks the step, products as a parabola
//     direct     da, dz, dx of a step; what blocks it (1 / the longest step)
//     products   sum, number and smallest of A z and B x after a step
//     advance    take the step; false where something is not finite
#pragma once
#include "core/levels.h"

// state: A, B, z, x, theta, da, dz, dx, base, each of shape (sides, rows).
struct InteriorState {
  int64_t rows, sides;
  const double *p, *lower, *upper;  // (sides, rows)
  const double* ridge;              // (rows)
  double *a, *state;
  double *beta, *f;                 // (rows): sum of a over the sides, and the row's value
};
struct Blocked {
  double blocked, first, second, third;
};
struct Products {
  double total, count, least;
};

struct InteriorTable {
  void (*begin)(const InteriorState& S, double offset, double size, bool by_room);
  void (*even_out)(const InteriorState& S, double least, bool together);
  void (*centre)(const InteriorState& S, double offset, double mu);
  void (*weigh)(const InteriorState& S, int64_t start, int64_t stop, double offset, double* q, double* T);
  Blocked (*predict)(const InteriorState& S, int64_t start, int64_t stop, const double* df, double dlambda, double* q0,
                     double* q1);
  double (*direct)(const InteriorState& S, int64_t start, int64_t stop, const double* predicted, double dpredicted,
                   const double* df, double dlambda, double mu, bool corrected);
  Products (*products)(const InteriorState& S, double step);
  bool (*advance)(const InteriorState& S, const double* df, double step);
};
LEVEL_TABLE(InteriorTable, interior_table)
