// Rosenblatt's perceptron: points in a given order, and a step for each that is on the wrong side.
//
//     if not y_i v'z_i > 0:      v += eta y_i z_i,    s += t eta y_i z_i,       z = (x, intercept),   t points came before
//
// s gives the mean of all v so far: v - s / T after T points. eta = 0 only counts.
#pragma once
#include "core/csr.h"
#include "core/levels.h"

struct PerceptronPass {
  const double* y;
  const int64_t* order;
  int64_t count;  // entries of order
  double *v, *s;  // (columns + 1)
  int64_t t;
  double eta, intercept;
  int64_t mistakes;  // sums, which grow
  double loss;       // of -y v'z over the mistakes
};

template <class T> struct PerceptronFunctions {
  void (*dense)(const T* X, int64_t columns, PerceptronPass& pass);
  // The number of points passed: fewer than `count` if the next one's entries are not inside X.
  int64_t (*csr_i32)(const Csr<T, int32_t>& X, int64_t entries, PerceptronPass& pass);
  int64_t (*csr_i64)(const Csr<T, int64_t>& X, int64_t entries, PerceptronPass& pass);
};
using PerceptronTable = BothPrecisions<PerceptronFunctions>;
LEVEL_TABLE(PerceptronTable, perceptron_table)
