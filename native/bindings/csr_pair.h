// Two CSR matrices of the same columns, types and index types, given as tuples (indptr, indices, data) and checked.
#pragma once
#include "core/border.h"
#include "core/csr.h"

// Calls f(A, B) with Csr<T, I> of both.
template <class F> void with_csr_pair(nb::tuple A, nb::tuple B, int64_t columns, F&& f) {
  if (A.size() != 3 || B.size() != 3) border::refuse_type("A and B must be tuples (indptr, indices, data)");
  const border::Input a_indptr(A[0], "A.indptr"), a_indices(A[1], "A.indices"), a_data(A[2], "A.data");
  const border::Input b_indptr(B[0], "B.indptr"), b_indices(B[1], "B.indices"), b_data(B[2], "B.data");
  border::check_scalar(columns >= 0 && columns <= INT32_MAX, "columns", "from 0 to 2^31 - 1", double(columns));
  border::for_real(a_data, [&](auto zero) {
    using T = decltype(zero);
    border::for_index(a_indices, [&](auto zero_index) {
      using I = decltype(zero_index);
      f(border::csr<T, I>(a_indptr, a_indices, a_data, columns), border::csr<T, I>(b_indptr, b_indices, b_data, columns));
    });
  });
}
