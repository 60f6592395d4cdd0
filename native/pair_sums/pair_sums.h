// Sums over the coordinates of two points, pair by pair, by definition and in float64:
//
//     PRODUCT       s_ij = sum_k a_ik b_jk
//     SQUARED       s_ij = sum_k (a_ik - b_jk)^2
//     ABSOLUTE      s_ij = sum_k |a_ik - b_jk|
//     CHI_SQUARED   s_ij = sum_k (a_ik - b_jk)^2 / (a_ik + b_jk),  0 where both are 0
//     MINIMUM       s_ij = sum_k min(a_ik, b_jk)
//
// One accumulator per pair, terms in the order of k: s_ij depends on the two rows alone. Rows of A meet panels of
// PAIR_PANEL_COLUMNS rows of B, whose coordinates lie side by side.
//
// Of sparse rows only the columns that the row of A has are laid out that way; what else a row of B has meets zeros, and
// those terms are added up apart.
//
// PAIR_LINE sparse rows a_0, a_1, ... side by side ("lines") meet sparse rows b one after the other: line place[k] holds
// coordinate k of each a, line 0 is zero, and
//
//     s_tr = sum_k b_tk line(place[k])_r      over the entries of b_t, even and odd ones apart
#pragma once
#include "core/csr.h"
#include "core/levels.h"

enum PairSum { PRODUCT, SQUARED, ABSOLUTE, CHI_SQUARED, MINIMUM, PAIR_SUMS };

constexpr int64_t PAIR_PANEL_COLUMNS = 32;
constexpr int64_t PAIR_LINE = 8;  // a register of AVX-512

// Rows of a matrix, named by `index` (row `index[i]` is the i-th) or in order where index is null.
template <class T> struct PairRows {
  const T* data;
  int64_t columns;
  const int64_t* index;
  int64_t count;
};

// Memory to work in: `place` has one entry per column, all -1 on entry and on return; `row` has room for the entries of a
// row of A, `panel` for PAIR_PANEL_COLUMNS times as many.
struct PairSumsScratch {
  double* panel;
  double* row;
  int32_t* place;
};

template <class T> struct PairSumsFunctions {
  // out is (A.count, B.count); the panel has room for PAIR_PANEL_COLUMNS rows.
  void (*dense)(int kind, const PairRows<T>& A, const PairRows<T>& B, double* panel, double* out);
  // out is (A.rows, B.rows); a row has no column twice.
  void (*sparse32)(int kind, const Csr<T, int32_t>& A, const Csr<T, int32_t>& B, PairSumsScratch scratch, double* out);
  void (*sparse64)(int kind, const Csr<T, int64_t>& A, const Csr<T, int64_t>& B, PairSumsScratch scratch, double* out);
};
// Rows of a CSR matrix by number.
struct SparsePairRows {
  const int64_t* indptr;
  const int32_t* indices;
  const double* data;
  const int64_t* rows;
  int64_t count;
};

struct PairSumsTable : BothPrecisions<PairSumsFunctions> {
  // out is (B.count, PAIR_LINE)
  void (*lines)(const double* lines, const int32_t* place, const SparsePairRows& B, double* out);
};
LEVEL_TABLE(PairSumsTable, pair_sums_table)
