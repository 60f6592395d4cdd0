#include "sparse_products/sparse_products.h"

#include <algorithm>
#include <vector>

#include "bindings/csr_pair.h"

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
  const border::Output out(out_, "out");
  with_csr_pair(A, B, columns, [&]<class T, class I>(const Csr<T, I>& a, const Csr<T, I>& b) {
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
}

}  // namespace

void bind_sparse_products(nb::module_& m) {
  m.def("sparse_products", &sparse_products, "A"_a, "B"_a, "columns"_a, "out"_a);
}
