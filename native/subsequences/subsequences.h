// Subsequences with gaps that two strings share (Lodhi, Saunders, Shawe-Taylor, Cristianini & Watkins 2002).
//
// With the decay d, P_0 = 1, and all P_n, n > 0, zero while nothing was read of x, letter a after letter of x:
//
//     total      +=  sum over j with z_j = a of P_{k-1}(j)                    total = k(x, z) / d^2k in the end
//     R_n(j + 1)  =  d R_n(j) + [z_j = a] P_{n-1}(j)             R_n(0) = 0
//     P_n(j + 1)  =  d P_n(j + 1) + R_n(j + 1)                   with P_{n-1} of before a, for n = 1..k-1
//
// P_n(j) belongs to the first j letters of z. R waits for itself along j, so SUBSEQUENCE_LANES strings z are taken side by
// side; no lane's value depends on its neighbours.
#pragma once
#include "core/levels.h"

constexpr int64_t SUBSEQUENCE_LANES = 16;

struct Subsequences {
  const double* letters;   // code points of the strings x, one after the other
  const int64_t* starts;   // string i is letters[starts[i]..starts[i + 1]]
  int64_t strings;
  const double* lanes;     // (length, SUBSEQUENCE_LANES): letter j of each z; -1 past its end
  int64_t length, k;
  double decay;
  double* P;               // (length + 1, k, SUBSEQUENCE_LANES); P[j, 0] = 1 always
  double* total;           // (SUBSEQUENCE_LANES): of the string that is being read
  int64_t *string, *letter;  // where to go on: letter 0 of string 0 at first
  double* out;             // (strings, SUBSEQUENCE_LANES)
};

struct SubsequencesTable {
  // Read letters until all strings are done, or about max_operations steps of P were taken; whether all are done.
  bool (*read)(const Subsequences& sums, int64_t max_operations);
};
LEVEL_TABLE(SubsequencesTable, subsequences_table)
