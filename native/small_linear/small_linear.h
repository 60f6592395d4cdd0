// A small linear problem with dense rows, solved in one call; and the certificate of any with finite weights.
//
//     minimise  1/2 |w|^2 + 1/2 (b / s)^2 + sum_i loss_i(y_i - w'x_i - b)        (losses/losses.h; weights finite, > 0)
//
// solve     works on the rows z_i of Z: of x_i minus the columns' means for a free intercept (no term in b / s), of x_i
//           with one more entry s for a penalised one. Squared losses: Newton's method on the rows that have a loss, with
//           an exact line search. Other losses: the predictor-corrector path of interior/interior.h over the normal
//           matrix I + Z'T Z. Both keep the best primal and the best dual point, and end when their gap is at most tol
//           times the larger objective.
// certify   computes the same from the definitions: values, objectives, feasible multipliers near beta, and by how much
//           the conditions of optimality are missed; it shares nothing with solve but the losses.
#pragma once
#include "core/levels.h"
#include "design/design.h"
#include "losses/losses.h"

constexpr int64_t SMALL_LINEAR_UNIT = 8;      // a row of Z has a multiple of so many entries, the last of them zero
constexpr int SMALL_LINEAR_RECORD = 4;        // numbers of an iteration: primal, dual, |w|, support vectors
constexpr int64_t SMALL_LINEAR_VECTORS = 25;  // of length `rows` in the scratch memory
constexpr int64_t SMALL_LINEAR_COLUMNS = 14;  // of length `stride`

struct SmallLinear {
  const double* Z;                    // rows x stride
  int64_t rows, features, stride;     // `features` entries of a row belong to w, a constant may follow
  LossesView losses;
  bool free;                          // whether there is an intercept besides the columns
  double start, centre, tol;          // the intercept to begin with; what is taken from y in the dual's sum
  int64_t max_iter;
  double *w, *f, *beta, *records;     // out: stride, rows, rows, (max_iter + 1) x SMALL_LINEAR_RECORD
  double* vectors;                    // SMALL_LINEAR_VECTORS x rows
  double* columns;                    // SMALL_LINEAR_COLUMNS x stride
  double *M, *factor;                 // stride x stride
};
struct SmallLinearResult {
  int64_t iterations, records;
  double b, primal, dual;
};

struct LinearConditions {
  RowsView X;                         // not shifted
  LossesView losses;
  bool free;
  double scaling;                     // s of a penalised intercept; 0 where there is none
  double centre;
  const double* w;
  double b;
  double *beta, *f;                   // beta: in near feasible, out feasible; f = X w
  bool* support;                      // out: the multiplier is not zero after a proximal step
  double *means, *sums;               // columns of X
};
struct LinearConditionsResult {
  double primal, dual, moved, in_w, in_b, size, complementarity, norm;
};

struct SmallLinearTable {
  SmallLinearResult (*solve)(const SmallLinear& p);
  LinearConditionsResult (*certify)(const LinearConditions& p);
};
LEVEL_TABLE(SmallLinearTable, small_linear_table)
