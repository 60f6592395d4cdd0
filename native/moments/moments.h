// Moments of dense points X (n rows, d columns), in float64.
//
//     power_sum        sum_i w_i sum_k (x_ik - c),  or the same of (x_ik - c)^2
//     column_sums      out_k += sum_i w_i x_ik
//     row_distances    out_i = sum_k (x_ik - c_k)^2
//     robust_centre    centre_k = median_i x_ik in the columns where a few rows drag the given centre away from the others,
//
//                          median_i |x_ik - centre_k|  >  factor median_i |x_ik - m_k| + 1e-12 |centre_k|,  m_k = median_i x_ik
//
// A median of weighted values is the smallest of them that at least half of the weight does not exceed. It is found by
// summing, for each value, the weights of those not above it: n^2 comparisons, but in all lanes at once and without a
// branch, for a column per lane. With at most a hundred or so rows this is faster than sorting.
#pragma once
#include "core/levels.h"

template <class T> struct MomentsFunctions {
  double (*power_sum)(const T* X, const double* weights, int64_t n, int64_t d, double centre, bool squares);
  void (*column_sums)(const T* X, const double* weights, int64_t n, int64_t d, double* out);
  void (*row_distances)(const T* X, const double* centre, int64_t n, int64_t d, double* out);
};
struct MomentsTable {
  BothPrecisions<MomentsFunctions> of;
  // scratch: 2 n lanes values, see `lanes`
  void (*robust_centre)(const double* X, const double* weights, int64_t n, int64_t d, double factor, double* centre,
                        double* scratch);
  int lanes;
};
LEVEL_TABLE(MomentsTable, moments_table)
