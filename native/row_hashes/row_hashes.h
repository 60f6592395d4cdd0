// Hashes of 64 bits of the contents of rows, dense or CSR.
//
//     hash(x) = sum over k with x_k != 0 of mix(k, bits of x_k as float64)      modulo 2^64
//     mix(k, z) = the finaliser of SplitMix64 (Steele, Lea & Flood 2014) of z xor (k + 1) 0x9E3779B97F4A7C15
//
// The sum does not depend on the order of the entries, on zeros that are stored, or on the precision of equal values.
#pragma once
#include "core/csr.h"
#include "core/levels.h"

template <class T> struct RowHashesFunctions {
  void (*dense)(const T* X, int64_t rows, int64_t columns, uint64_t* out);
  void (*csr_i32)(const Csr<T, int32_t>& X, uint64_t* out);
  void (*csr_i64)(const Csr<T, int64_t>& X, uint64_t* out);
};
using RowHashesTable = BothPrecisions<RowHashesFunctions>;
LEVEL_TABLE(RowHashesTable, row_hashes_table)
