// Coefficients of one-vs-one, checked: class after class, in rows that are padded to whole vectors.
#pragma once
#include "core/border.h"
#include "one_vs_one/one_vs_one.h"

inline PairCoefficients checked_pair_coefficients(const border::Array<const double, 2>& coefficients,
                                                  const border::Array<const int64_t, 1>& counts) {
  const int64_t classes = counts.shape[0], stride = coefficients.shape[1];
  border::check_at_least(counts, 0, 2, "two classes");
  border::check_at_least(coefficients, 1, classes - 1, "the other classes");
  border::check_scalar(stride % PAIR_COEFFICIENTS_UNIT == 0, "coefficients.shape[1]", "a multiple of 8", double(stride));
  int64_t total = 0;
  for (int64_t i = 0; i < classes; i++) {
    border::check_scalar(counts.data[i] >= 0, "counts", "at least 0", double(counts.data[i]));
    border::check_scalar(counts.data[i] <= coefficients.shape[0] - total, "counts", "as many as rows of coefficients in all",
                         double(counts.data[i]));
    total += counts.data[i];
  }
  border::check_length(coefficients, 0, total, "support vectors of all classes");
  return {coefficients.data, counts.data, classes, stride};
}
