// The rows of X as one checked object: LinearRows(data) or LinearRows(data, indptr, indices, columns).
//
// Indices are checked once, when the object is made; functions that take it trust them. The arrays must not change while
// it lives, and are kept alive by it.
#pragma once
#include "core/border.h"
#include "design/design.h"

class LinearRows {
 public:
  LinearRows(nb::handle data, nb::handle indptr, nb::handle indices, int64_t columns, nb::handle shift);
  RowsView view{};
  bool sparse() const { return view.form >= CSR_F32_I32; }
  void check_range(int64_t start, int64_t stop) const { border::check_range(start, stop, view.rows, "rows of X"); }

 private:
  border::Input data_, indptr_, indices_, shift_;
};

// A vector of float64 with the length that is expected of it.
inline const double* vector_of(const border::Input& input, int64_t length, const char* what) {
  const auto array = input.array<double, 1>();
  border::check_length(array, 0, length, what);
  return array.data;
}
inline double* vector_of(const border::Output& output, int64_t length, const char* what) {
  const auto array = output.array<double, 1>();
  border::check_length(array, 0, length, what);
  return array.data;
}
