// Probabilities of k classes from those of all pairs (Wu, Lin & Weng 2004, their second method), row by row.
//
//     minimise p'Qp  subject to  sum p = 1,     Q_ii = sum_{s != i} r_si^2,  Q_ij = -r_ji r_ij,     r_ji = 1 - r_ij.
//
// At the minimum Q p is a multiple of e = (1, ..., 1)', and so is (Q + e e') p: p is the solution of (Q + e e') x = e,
// divided by its sum. Q may be singular (its null vector are the probabilities that fit all pairs exactly); Q + e e' is
// positive definite, and is factorised without exchanges.
#pragma once
#include "core/levels.h"

struct Coupling {
  const double* r;        // (rows, pairs): r_ij of each pair i < j, in [0, 1]
  int64_t rows, pairs;
  const int64_t* columns;  // where the pairs (0, 1), (0, 2), ..., (k - 2, k - 1) are in r
  int64_t classes;
  double least;      // r_ij is moved into [least, 1 - least]
  double* out;       // (rows, classes)
  double* matrices;  // scratch memory of classes (classes + 1) COUPLING_MAX_LANES values
};
constexpr int64_t COUPLING_MAX_LANES = 8;

struct CouplingTable {
  void (*couple)(const Coupling& coupling);
};
LEVEL_TABLE(CouplingTable, coupling_table)
