// Derivatives of the cross-entropy of softmax(slope s) with respect to the slope.
//
//     first  += sum_i w_i (mean_i - own_i)          mean and variance of a row's scores under its probabilities
//     second += sum_i w_i variance_i
#pragma once
#include "core/levels.h"

struct TemperatureRows {
  const double* scores;  // (rows, classes), at least one class
  const double *own, *weight;
  int64_t rows, classes;
};

struct TemperatureTable {
  void (*derivatives)(const TemperatureRows& rows, double slope, double* first, double* second);
};
LEVEL_TABLE(TemperatureTable, temperature_table)
