// Similarities of strings by the words that they share, K += F (E H Phi').
//
//     F_iw     how often word w occurs in string i of A        by words (CSC)
//     E_wf     whether word w has feature f                    by words (CSR)
//     Phi_jf   feature f of string j of B                      by features (CSC)
//     H        the weights h_f of the features, a diagonal matrix
//
// Word by word: how similar a word is to the strings of B is computed once for all strings of A that have it.
#pragma once
#include "core/csr.h"
#include "core/levels.h"

struct WordProducts {
  Csr<double, int64_t> F, E, Phi;  // "rows" are words, words and features
  const double* h;
  double* K;           // (strings of A, strings of B)
  int64_t others;      // strings of B
  double* similarity;  // scratch memory of `others` values
};

struct WordProductsTable {
  // Words from `first` on, until about max_operations products are formed; the word to go on with.
  int64_t (*add)(const WordProducts& products, int64_t first, int64_t max_operations);
};
LEVEL_TABLE(WordProductsTable, word_products_table)
