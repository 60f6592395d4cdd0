// The L1 penalty by columns: one-dimensional Newton steps, CDN (Yuan, Chang, Hsieh & Lin 2010), and coordinate descent on
// the quadratic model of a Newton step.
//
//     descend    losses c_i max(0, slack_i)^2, slack_i = 1 - y_i (w'x_i + b). Along w_j they have
//                slope -p_j = -2 sum_i c_i y_i x_ij max(0, slack_i),  curvature h_j = 2 sum_i c_i x_ij^2 over slack_i > 0;
//                t = soft(h_j w_j + p_j) / h_j - w_j, halved until the objective falls by a part of what was promised.
//                Returns the largest |t| h_j.
//     model      v_j <- soft(H_jj v_j - q_j) / H_jj,  q += change H_j.    for  1/2 v'Hv - r'v + |v|_1,  q = Hv - r
//
// soft(z) = sign(z) max(0, |z| - 1). The columns of X are the rows of `X` here.
#pragma once
#include "design/design.h"

struct ColumnsTable {
  double (*descend)(const RowsView& X, const int64_t* order, int64_t count, const double* y, const double* c, double* w,
                    double* slack);
  // Passes until none changes q_j by more than `goal`, or no sign has changed for `rested` passes.
  void (*model)(const double* H, int64_t d, double* v, double* q, double goal, int64_t passes, int64_t rested);
};
LEVEL_TABLE(ColumnsTable, columns_table)
