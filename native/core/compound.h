// Arguments of several arrays. A CSR matrix comes as the tuple (indptr, indices, data); errors name its parts: "X.indices must ...".
//
//     const border::CsrInput X(X_, "X");
//     const Csr<double, int32_t> x = X.matrix<double, int32_t>(columns);      checked, see border::csr
#pragma once
#include "core/border.h"

namespace border {

class CsrInput {
  const std::string names_[3];
  static nb::handle part(nb::handle triple, const char* name, int k) {
    if (!PyTuple_Check(triple.ptr()) || PyTuple_Size(triple.ptr()) != 3)
      refuse_type(std::string(name) + " must be a tuple (indptr, indices, data)");
    return PyTuple_GetItem(triple.ptr(), k);
  }

 public:
  const Input indptr, indices, data;

  CsrInput(nb::handle triple, const char* name)
      : names_{std::string(name) + ".indptr", std::string(name) + ".indices", std::string(name) + ".data"},
        indptr(part(triple, name, 0), names_[0].c_str()),
        indices(part(triple, name, 1), names_[1].c_str()),
        data(part(triple, name, 2), names_[2].c_str()) {}

  template <class T, class I> Csr<T, I> matrix(int64_t columns, int64_t first = 0, int64_t last = -1) const {
    return csr<T, I>(indptr, indices, data, columns, first, last);
  }
  // Checked for the rows at[first..last) only, and they for the matrix; see border::csr_at.
  template <class T, class I>
  Csr<T, I> matrix_at(int64_t columns, const Array<const int64_t, 1>& at, int64_t first, int64_t last) const {
    return csr_at<T, I>(indptr, indices, data, columns, at, first, last);
  }
};

// Two counts that must agree: ValueError "<name> must be <expected> (<what>), got <count>".
inline void check_count(const char* name, int64_t count, int64_t expected, const char* what) {
  if (count != expected)
    refuse_value(std::string(name) + " must be " + std::to_string(expected) + " (" + what + "), got " +
                 std::to_string(count));
}

// Offsets of consecutive parts of an array: they never fall, and lie in [0, size].
inline void check_offsets(const Array<const int64_t, 1>& offsets, int64_t size, const char* what) {
  const int64_t count = offsets.shape[0];
  check_at_least(offsets, 0, 1, "parts + 1");
  if (!monotone(offsets.data, count) || offsets.data[0] < 0 || offsets.data[count - 1] > size)
    refuse_value(std::string(offsets.name) + " must rise from 0 to at most " + std::to_string(size) + " (" + what + ")");
}

}  // namespace border
