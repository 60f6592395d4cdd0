// Hashes of rows: equal rows of numbers have equal hashes, whatever their type and form.
//
//     hash_i = sum over the non-zero entries (k, x_ik) of mix(bits(x_ik) xor (k + 1) * golden)
//
// where bits are those of the value as float64 and mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
#pragma once
#include "core/csr.h"
#include "core/levels.h"

template <class T> struct BatchRowsFunctions {
  void (*hash_dense)(const T* X, int64_t rows, int64_t columns, uint64_t* out);
  void (*hash_csr32)(const Csr<T, int32_t>* X, uint64_t* out);
  void (*hash_csr64)(const Csr<T, int64_t>* X, uint64_t* out);
};
using BatchRowsTable = BothPrecisions<BatchRowsFunctions>;
LEVEL_TABLE(BatchRowsTable, batch_rows_table)
