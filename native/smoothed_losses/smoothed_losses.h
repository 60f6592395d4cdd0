// Losses of a family, rounded at their kinks, with their derivatives, over rows of several outputs.
//
// With the hinge of a slack s rounded by a parabola of a width d around a centre a0 (see large_scale/losses.py),
//
//     h_d(s) = max over 0 <= a <= 1 of a s - d/2 (a - a0)^2      a = clip(a0 + s/d, 0, 1) = h_d'(s),   h_d'' = 1/d or 0
//     or, squared, h(s) = max(0, s)^2                            a = 2 max(0, s),                      h'' = 2 or 0,
//
// a classifier's loss is h(1 - y f), and that of a tube h(y - f - epsilon) + h(f - y - epsilon) with the multiplier
// a = a_above - a_below; squared and with epsilon = 0 it is (y - f)^2. The derivative of c L with respect to f is
// g = -c a y for a classifier and -c a for a tube.
#pragma once
#include "core/levels.h"

struct SmoothedLoss {
  bool tube, squared;
  double epsilon, width;
};

// Arrays of shape (rows, outputs). Without centres (null) they are 1/2; of a tube's two hinges one has the centre
// max(0, a0), the other max(0, -a0).
struct LossRows {
  const double *F, *y, *c, *centre;
  int64_t rows, outputs;
};

// Lines of `sums`, each of one value per output. The conjugate of c L at g is linear + quadratic; if g is multiplied by
// t, its parts are by t and t^2. Three lines belong to rows with g > 0, the next three to those with g < 0.
enum LossSum { SUM_LOSS, SUM_SMOOTH, SUM_POSITIVE, SUM_NEGATIVE = 5, SUM_WEIGHT = 8, SUM_CURVATURE, LOSS_SUMS };

struct LossLine {
  const double* G;      // (rows, outputs): the change of F along the line
  const double* steps;  // (count, outputs)
  int64_t count;
  double *values, *slopes;  // (count, outputs)
};

struct HingeChange {
  int64_t output;
  bool* inside;    // rows that had a second derivative; brought up to date
  double* change;  // the second derivatives of now less those of before
};

struct SmoothedLossesTable {
  // g = the derivatives of c L_d at F; sums grow. Returns the number of rows with g != 0 in any output.
  int64_t (*first_order)(const SmoothedLoss& loss, const LossRows& rows, double* g, double* sums);
  // D = the second derivatives of c L_d at F.
  void (*second_order)(const SmoothedLoss& loss, const LossRows& rows, double* D);
  // a at F; c is not read.
  void (*multipliers)(const SmoothedLoss& loss, const LossRows& rows, double* a);
  // values += sum c L_d(F + t G) and slopes += its derivative with respect to t, for each t of the steps.
  void (*along_line)(const SmoothedLoss& loss, const LossRows& rows, const LossLine& line);
  // Squared hinge: rows enter or leave the set with y f < 1 and c > 0. How many changed, and how many are inside.
  void (*hinge_changes)(const LossRows& rows, const HingeChange& change, int64_t* changed, int64_t* count);
};
LEVEL_TABLE(SmoothedLossesTable, smoothed_losses_table)
