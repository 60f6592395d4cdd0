// A sparse matrix by rows: row i has the entries indptr[i]..indptr[i + 1] of indices (columns) and data (values).
// Plain data, for level code and baseline code; I is int32_t or int64_t.
#pragma once
#include <stdint.h>

template <class T, class I> struct Csr {
  const I* indptr;
  const I* indices;
  const T* data;
  int64_t rows, columns;
};
