#include "rows/rows.h"

#include "core/border.h"

using nb::literals::operator""_a;

namespace {

template <class T> Matrix<T> matrix_of(const border::Strided<T, 2>& array) {
  return {array.data, array.strides[0], array.strides[1]};
}
Indices indices_of(const border::Array<const int64_t, 1>& array) { return {array.data, array.shape[0]}; }

void transpose(nb::handle A_, nb::handle out_) {
  const border::Input A(A_, "A");
  const border::Output out(out_, "out");
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const auto a = A.strided<T, 2>();
    const auto o = out.strided<T, 2>();
    border::check_row_order(a);
    border::check_row_order(o);
    border::check_length(o, 0, a.shape[1], "columns of A");
    border::check_length(o, 1, a.shape[0], "rows of A");
    nb::gil_scoped_release released;
    functions_of<T>(rows_table()).transpose(matrix_of(a), a.shape[0], a.shape[1], matrix_of(o));
  });
}

void gather(nb::handle K_, nb::handle rows_, nb::handle columns_, nb::handle out_) {
  const border::Input K(K_, "K"), rows(rows_, "rows"), columns(columns_, "columns");
  const border::Output out(out_, "out");
  const auto r = rows.array<int64_t, 1>(), c = columns.array<int64_t, 1>();
  border::for_real(K, [&](auto zero) {
    using T = decltype(zero);
    const auto k = K.strided<T, 2>();
    border::check_indices(r, k.shape[0], "rows of K");
    border::check_indices(c, k.shape[1], "columns of K");
    border::for_real(out, [&](auto zero_out) {
      using U = decltype(zero_out);
      const auto o = out.strided<U, 2>();
      border::check_row_order(o);
      border::check_length(o, 0, r.shape[0], "rows");
      border::check_length(o, 1, c.shape[0], "columns");
      nb::gil_scoped_release released;
      const auto& functions = functions_of<T>(rows_table());
      if constexpr (sizeof(U) == 4)
        functions.gather_single(matrix_of(k), indices_of(r), indices_of(c), matrix_of(o));
      else
        functions.gather_double(matrix_of(k), indices_of(r), indices_of(c), matrix_of(o));
    });
  });
}

void gather_product(nb::handle K_, nb::handle rows_, nb::handle columns_, nb::handle coef_, nb::handle out_) {
  const border::Input K(K_, "K"), rows(rows_, "rows"), columns(columns_, "columns"), coef(coef_, "coef");
  const border::Output out(out_, "out");
  const auto r = rows.array<int64_t, 1>(), c = columns.array<int64_t, 1>();
  const auto x = coef.array<double, 1>();
  const auto o = out.array<double, 1>();
  border::check_length(x, 0, c.shape[0], "columns");
  border::check_length(o, 0, r.shape[0], "rows");
  border::for_real(K, [&](auto zero) {
    using T = decltype(zero);
    const auto k = K.strided<T, 2>();
    border::check_indices(r, k.shape[0], "rows of K");
    border::check_indices(c, k.shape[1], "columns of K");
    nb::gil_scoped_release released;
    functions_of<T>(rows_table()).gather_product(matrix_of(k), indices_of(r), indices_of(c), x.data, o.data);
  });
}

void add_rows(nb::handle K_, nb::handle rows_, nb::handle coef_, nb::handle out_) {
  const border::Input K(K_, "K"), rows(rows_, "rows"), coef(coef_, "coef");
  const border::Output out(out_, "out");
  const auto r = rows.array<int64_t, 1>();
  const auto x = coef.array<double, 1>();
  const auto o = out.array<double, 1>();
  border::check_length(x, 0, r.shape[0], "rows");
  border::for_real(K, [&](auto zero) {
    using T = decltype(zero);
    const auto k = K.strided<T, 2>();
    border::check_row_order(k);
    border::check_indices(r, k.shape[0], "rows of K");
    border::check_at_least(k, 1, o.shape[0], "entries of out");
    nb::gil_scoped_release released;
    functions_of<T>(rows_table()).add_rows(matrix_of(k), indices_of(r), x.data, o.data, o.shape[0]);
  });
}

void add_columns(nb::handle K_, nb::handle columns_, nb::handle coef_, nb::handle out_) {
  const border::Input K(K_, "K"), columns(columns_, "columns"), coef(coef_, "coef");
  const border::Output out(out_, "out");
  const auto c = columns.array<int64_t, 1>();
  const auto x = coef.array<double, 1>();
  const auto o = out.array<double, 1>();
  border::check_length(x, 0, c.shape[0], "columns");
  border::for_real(K, [&](auto zero) {
    using T = decltype(zero);
    const auto k = K.strided<T, 2>();
    border::check_indices(c, k.shape[1], "columns of K");
    border::check_at_least(k, 0, o.shape[0], "entries of out");
    nb::gil_scoped_release released;
    functions_of<T>(rows_table()).add_columns(matrix_of(k), indices_of(c), x.data, o.data, o.shape[0]);
  });
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.def("transpose", &transpose, "A"_a, "out"_a);
  m.def("gather", &gather, "K"_a, "rows"_a, "columns"_a, "out"_a);
  m.def("gather_product", &gather_product, "K"_a, "rows"_a, "columns"_a, "coef"_a, "out"_a);
  m.def("add_rows", &add_rows, "K"_a, "rows"_a, "coef"_a, "out"_a);
  m.def("add_columns", &add_columns, "K"_a, "columns"_a, "coef"_a, "out"_a);
}
