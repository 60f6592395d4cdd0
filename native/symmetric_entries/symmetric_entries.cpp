#include "symmetric_entries/symmetric_entries.h"

#include "core/simd.h"

namespace LEVEL {

constexpr int64_t WIDTH = LANES<float>;

static int64_t select(const DenseBlock& block, float threshold, const SelectedEntries& out) {
  int64_t count = 0;
  for (int64_t r = 0; r < block.rows; r++) {
    const float* row = block.data + r * block.stride;
    const int64_t before = count;
    int64_t c = maximum(int64_t(0), block.diagonal + r + 1);
    const auto keep = [&](int64_t stop) {
      for (; c < stop; c++)
        if (absolute(row[c]) > threshold) out.indices[count] = uint16_t(c), out.data[count++] = row[c];
    };
    while (c + WIDTH <= block.columns)  // most vectors have no large value
      if (maximum_of<float>(absolute_lanes<float>(load(row + c))) > threshold)
        keep(c + WIDTH);
      else
        c += WIDTH;
    keep(block.columns);
    out.counts[r] = count - before;
  }
  return count;
}

static void product(const SymmetricEntries& s, const double* x, double* out) {
  const double* x_columns = x + s.first;
  double* out_columns = out + s.first;
  for (int64_t i = 0; i < s.rows; i++) {
    const double own = x[i];
    double sum = 0;
    for (int64_t e = s.indptr[i]; e < s.indptr[i + 1]; e++) {
      const double value = s.data[e];
      sum += value * x_columns[s.indices[e]];
      out_columns[s.indices[e]] += value * own;
    }
    out[i] += sum;
  }
}

static void fill(const SymmetricEntries& s, const int64_t* rows, int64_t count, const int32_t* place, float* out,
                 int64_t stride) {
  const int32_t* place_of_column = place + s.first;
  for (int64_t t = 0; t < count; t++) {
    const int64_t i = rows[t], p = place[i];
    if (i >= s.rows || p < 0) continue;
    for (int64_t e = s.indptr[i]; e < s.indptr[i + 1]; e++) {
      const int64_t q = place_of_column[s.indices[e]];
      if (q >= 0) out[p * stride + q] = out[q * stride + p] = s.data[e];
    }
  }
}

static int64_t largest(const uint16_t* indices, int64_t count) {
  uint16_t most = 0;
  for (int64_t e = 0; e < count; e++) most = indices[e] > most ? indices[e] : most;
  return most;
}

const SymmetricEntriesTable symmetric_entries_table = {select, product, fill, largest};

}  // namespace LEVEL
