#include "sparse_products/sparse_products.h"

#include <algorithm>
#include <vector>

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

// Entries of the panel of rows that has most.
template <class T, class I> int64_t fullest_panel(const Csr<T, I>& B) {
  int64_t most = 0;
  for (int64_t first = 0; first < B.rows; first += SPARSE_PANEL_ROWS)
    most = std::max(most, int64_t(B.indptr[std::min(B.rows, first + SPARSE_PANEL_ROWS)] - B.indptr[first]));
  return most;
}

void sparse_products(nb::tuple A, nb::tuple B, int64_t columns, nb::handle out_) {
  if (A.size() != 3 || B.size() != 3) border::refuse_type("A and B must be tuples (indptr, indices, data)");
  const border::Input a_indptr(A[0], "A.indptr"), a_indices(A[1], "A.indices"), a_data(A[2], "A.data");
  const border::Input b_indptr(B[0], "B.indptr"), b_indices(B[1], "B.indices"), b_data(B[2], "B.data");
  const border::Output out(out_, "out");
  border::check_scalar(columns >= 0 && columns <= INT32_MAX, "columns", "from 0 to 2^31 - 1", double(columns));
  border::for_real(a_data, [&](auto zero) {
    using T = decltype(zero);
    border::for_index(a_indices, [&](auto zero_index) {
      using I = decltype(zero_index);
      const auto a = border::csr<T, I>(a_indptr, a_indices, a_data, columns);
      const auto b = border::csr<T, I>(b_indptr, b_indices, b_data, columns);
      const auto o = out.array<double, 2>();
      border::check_length(o, 0, a.rows, "rows of A");
      border::check_length(o, 1, b.rows, "rows of B");
      nb::gil_scoped_release released;
      const size_t most = size_t(std::min(columns, fullest_panel(b)));
      std::vector<int32_t> place(size_t(columns), 0), used(most);
      std::vector<double> lines((most + 1) * size_t(SPARSE_PANEL_ROWS));
      const SparseProductsScratch scratch{place.data(), used.data(), lines.data()};
      const auto& functions = functions_of<T>(sparse_products_table());
      if constexpr (sizeof(I) == 4)
        functions.products32(a, b, scratch, o.data);
      else
        functions.products64(a, b, scratch, o.data);
    });
  });
}

}  // namespace

void bind_sparse_products(nb::module_& m) {
  m.def("sparse_products", &sparse_products, "A"_a, "B"_a, "columns"_a, "out"_a);
}
