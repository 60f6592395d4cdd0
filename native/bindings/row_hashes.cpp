#include "row_hashes/row_hashes.h"

#include "core/compound.h"

using nb::literals::operator""_a;

static void hash_rows(nb::handle X_, nb::handle out_) {
  const border::Input X(X_, "X");
  const border::Output out(out_, "out");
  border::for_real(X, [&](auto zero) {
    using T = decltype(zero);
    const auto x = X.array<T, 2>();
    const auto o = out.array<uint64_t, 1>();
    border::check_length(o, 0, x.shape[0], "rows of X");
    nb::gil_scoped_release released;
    functions_of<T>(row_hashes_table()).dense(x.data, x.shape[0], x.shape[1], o.data);
  });
}

static void hash_rows_csr(nb::handle X_, int64_t columns, nb::handle out_) {
  const border::CsrInput X(X_, "X");
  const border::Output out(out_, "out");
  border::for_real(X.data, [&](auto zero) {
    using T = decltype(zero);
    border::for_index(X.indices, [&](auto none) {
      using I = decltype(none);
      const auto x = X.matrix<T, I>(columns);
      const auto o = out.array<uint64_t, 1>();
      border::check_length(o, 0, x.rows, "rows of X");
      nb::gil_scoped_release released;
      const auto& functions = functions_of<T>(row_hashes_table());
      if constexpr (sizeof(I) == 4)
        functions.csr_i32(x, o.data);
      else
        functions.csr_i64(x, o.data);
    });
  });
}

void bind_row_hashes(nb::module_& m) {
  m.def("hash_rows", &hash_rows, "X"_a, "out"_a);
  m.def("hash_rows_csr", &hash_rows_csr, "X"_a, "columns"_a, "out"_a);
}
