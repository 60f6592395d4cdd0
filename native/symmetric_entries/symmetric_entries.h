// Large entries of a symmetric matrix, those above its diagonal, in strips of columns: entry e of row i (indptr[i] <= e <
// indptr[i + 1]) is value data[e] at column first + indices[e], which is beyond i. A strip has at most 65,536 columns.
//
//     select     entries of a dense block whose size exceeds a threshold
//     product    out += S x for the entries and their mirror images: out_i += s_ij x_j, out_j += s_ij x_i
//     fill       out[place_i, place_j] = out[place_j, place_i] = s_ij for entries of which both ends have a place
#pragma once
#include "core/levels.h"

struct SymmetricEntries {
  const int64_t* indptr;
  const uint16_t* indices;
  const float* data;
  int64_t rows, first;
};
struct DenseBlock {
  const float* data;
  int64_t rows, columns, stride;
  int64_t diagonal;  // column of row 0 that lies on the diagonal: entries of row r count beyond column diagonal + r
};
struct SelectedEntries {
  int64_t* counts;  // of each row
  uint16_t* indices;
  float* data;
};

struct SymmetricEntriesTable {
  // Returns how many; indices and data have place for all of the block.
  int64_t (*select)(const DenseBlock& block, float threshold, const SelectedEntries& out);
  void (*product)(const SymmetricEntries& entries, const double* x, double* out);
  // place is negative for rows that have none.
  void (*fill)(const SymmetricEntries& entries, const int64_t* rows, int64_t count, const int32_t* place, float* out,
               int64_t stride);
  int64_t (*largest)(const uint16_t* indices, int64_t count);
};
LEVEL_TABLE(SymmetricEntriesTable, symmetric_entries_table)
