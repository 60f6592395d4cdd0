// Dual coordinate descent for linear models (Hsieh, Chang, Lin, Keerthi & Sundararajan 2008; Ho & Lin 2012).
//
// The dual of  1/2 |w|^2 + t b + sum_i loss_i(y_i - w'x_i - b)  (see losses/losses.h), with w = sum_i beta_i x_i:
//
//     minimise  1/2 |w|^2 + sum_i rho_i beta_i^2 / 2 + eps |beta_i| - y_i beta_i,   lower_i <= beta_i <= upper_i
//
// Along beta_i it is a parabola of slope g_i and curvature q_i, plus eps |beta_i|:
//
//     g_i = w'x_i + b - y_i + rho_i beta_i,     q_i = |x_i|^2 + rho + rho_i,     b = b0 + rho (sum_i beta_i - t)
//     beta_i <- clip(soft(beta_i - g_i / q_i, eps / q_i), lower_i, upper_i),     w += change x_i
//
// The pull of a row is the distance of zero from the slopes at beta_i, negative where they hold it in place. A row held
// by more than the largest pull of the last epoch is left out (shrinking).
//
// The duality gap is  sum_i share_i - b (sum beta - t),  share_i = loss_i(r_i) + conjugate_i(beta_i) - beta_i r_i; an
// epoch meets every r_i on its way, so it has an estimate of the gap for nothing.
//
// free_step moves the rows `free`, all between their bounds and off the kink at zero, by conjugate gradients on the
// quadratic that is left, cut off at the box (More & Toraldo 1991).
#pragma once
#include "design/design.h"

struct DescentState {
  RowsView X;
  const double *y, *q, *ridge, *lower, *upper;
  double eps, rho, t;
  bool free;                 // the intercept is free: b0 follows the method of multipliers
  double *beta, *w;
  int64_t* order;            // rows that take part come first
  int64_t count;             // entries of order
  // what the loop changes
  double b0, missing;        // missing = sum beta - t
  double limit;              // rows held by more than this are left out
  double pull;               // largest of this epoch
  double gap, dual, partial; // estimated relative gap of the last epoch; dual objective but for the intercept's part
  double met;                // b0 when every row last took part
  int64_t active, place, kept;
  int64_t visits;            // steps of all epochs
  uint64_t seed;
};

struct FreeStepScratch {
  double *g, *d, *r, *p, *q, *v;  // the first five of length `free rows`, v of length columns
};

struct DescentTable {
  // Whole epochs, as many as `epochs` or until one has an estimated gap <= gap or a largest pull <= pull; how many they
  // were. After `steps` rows the loop is left wherever it is, and goes on from there in the next call.
  int64_t (*sweep)(DescentState& S, int64_t epochs, int64_t steps, double gap, double pull, bool shrinking);
  // At most `most` steps of conjugate gradients; how much lower the dual's objective is.
  double (*free_step)(DescentState& S, const int64_t* free, int64_t count, int64_t most, const FreeStepScratch& scratch);
  // out += sum_i factors_i x_i over rows
  void (*combine)(const RowsView& X, const int64_t* rows, int64_t count, const double* factors, double* out);
};
LEVEL_TABLE(DescentTable, descent_table)
