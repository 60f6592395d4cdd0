#include "coordinate_sums/coordinate_sums.h"

#include <vector>

#include "core/compound.h"

using nb::literals::operator""_a;

static CoordinateTerm checked_term(int term) {
  border::check_scalar(0 <= term && term < COORDINATE_TERMS, "term", "0, 1 or 2", term);
  return CoordinateTerm(term);
}

static void coordinate_sums(nb::handle A_, nb::handle B_, int term, nb::handle out_) {
  const border::Input A(A_, "A"), B(B_, "B");
  const border::Output out(out_, "out");
  const auto a = A.array<double, 2>(), b = B.array<double, 2>();
  const auto o = out.strided<double, 2>();
  const CoordinateTerm kind = checked_term(term);
  border::check_length(b, 1, a.shape[1], "columns of A");
  border::check_length(o, 0, a.shape[0], "rows of A");
  border::check_length(o, 1, b.shape[0], "rows of B");
  border::check_row_order(o);
  std::vector<double> panel(a.shape[1] * PANEL_MAX_LANES);
  nb::gil_scoped_release released;
  coordinate_sums_table().dense(
      {a.data, b.data, a.shape[0], b.shape[0], a.shape[1], o.data, o.strides[0], panel.data()}, kind);
}

static void coordinate_sums_csr(nb::handle A_, nb::handle B_, int64_t columns, int term, nb::handle out_) {
  const border::CsrInput A(A_, "A"), B(B_, "B");
  const border::Output out(out_, "out");
  const CoordinateTerm kind = checked_term(term);
  border::for_index(A.indices, [&](auto none) {
    using I = decltype(none);
    const auto o = out.strided<double, 2>();
    const SparseSums<I> sums{A.matrix<double, I>(columns), B.matrix<double, I>(columns), o.data, o.strides[0]};
    border::check_row_order(o);
    border::check_length(o, 0, sums.A.rows, "rows of A");
    border::check_length(o, 1, sums.B.rows, "rows of B");
    nb::gil_scoped_release released;
    if constexpr (sizeof(I) == 4)
      coordinate_sums_table().sparse_i32(sums, kind);
    else
      coordinate_sums_table().sparse_i64(sums, kind);
  });
}

void bind_coordinate_sums(nb::module_& m) {
  m.def("coordinate_sums", &coordinate_sums, "A"_a, "B"_a, "term"_a, "out"_a);
  m.def("coordinate_sums_csr", &coordinate_sums_csr, "A"_a, "B"_a, "columns"_a, "term"_a, "out"_a);
}
