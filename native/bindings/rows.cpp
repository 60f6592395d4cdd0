#include "rows/rows.h"

#include "core/border.h"

using nb::literals::operator""_a;

static void transpose(nb::handle A_, nb::handle out_) {
  const border::Input A(A_, "A");
  const border::Output out(out_, "out");
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const auto a = A.array<T, 2>();
    const auto o = out.array<T, 2>();
    border::check_length(o, 0, a.shape[1], "columns of A");
    border::check_length(o, 1, a.shape[0], "rows of A");
    nb::gil_scoped_release released;
    functions_of<T>(rows_table()).transpose(a.data, a.shape[0], a.shape[1], o.data);
  });
}

void bind_rows(nb::module_& m) { m.def("transpose", &transpose, "A"_a, "out"_a); }
