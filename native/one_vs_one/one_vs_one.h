// One-vs-one: a binary model for each pair of k classes i < j, in the order (0, 1), (0, 2), ..., (1, 2), ...
//
// A support vector of class i has k - 1 coefficients, one against every other class: entry j - 1 against a later class j,
// entry j against an earlier one (LIBSVM's layout). With the sums over the support vectors of each class,
//
//     s_i = sum over x_m of class i of k(x, x_m) c_m        (k - 1 entries)
//     f_ij(x) = s_i[j - 1] + s_j[i]
//
// A pair gives one vote: to class i where f_ij > 0, else to class j.
//
// Each row's sums are added up in the order of the support vectors, one accumulator each: they depend on that row alone.
#pragma once
#include "core/levels.h"

constexpr int64_t PAIR_COEFFICIENTS_UNIT = 8;  // rows of coefficients are padded with zeros to a multiple of this

struct PairCoefficients {
  const double* rows;     // support vectors, class after class, x stride
  const int64_t* counts;  // of each class
  int64_t classes, stride;
};

template <class T> struct PairValuesFunctions {
  // out[r, pair] = f_pair of row r of K (rows x support vectors); `sums` has room for 4 * classes * stride values.
  void (*values)(const PairCoefficients& c, const T* K, int64_t support, int64_t rows, double* sums, double* out);
};
struct OneVsOneTable {
  BothPrecisions<PairValuesFunctions> pairs;
  // votes[r, i] of each class; a value of exactly zero is a vote for the second class, or for the first.
  void (*votes)(const double* f, int64_t rows, int64_t classes, bool zero_for_first, double* votes);
  // The fewest and the most votes of each class, where each f may be off by its bound.
  void (*vote_range)(const double* f, const double* bound, int64_t rows, int64_t classes, double* fewest, double* most);
  // sums[r, i] = sum over the pairs (i, j) of f_ij, and of -f_ji.
  void (*confidence)(const double* f, int64_t rows, int64_t classes, double* sums);
};
LEVEL_TABLE(OneVsOneTable, one_vs_one_table)
