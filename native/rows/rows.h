// Rows of dense matrices, rearranged.
//
//     transpose    out_kj = A_jk
#pragma once
#include "core/levels.h"

template <class T> struct RowsFunctions {
  void (*transpose)(const T* A, int64_t rows, int64_t columns, T* out);
};
using RowsTable = BothPrecisions<RowsFunctions>;
LEVEL_TABLE(RowsTable, rows_table)
