#include "bindings/linear_rows.h"


using nb::literals::operator""_a;
using border::Input;
using border::Output;

LinearRows::LinearRows(nb::handle data, nb::handle indptr, nb::handle indices, int64_t columns, nb::handle shift)
    : data_(data, "data"),
      indptr_(indptr, "indptr", border::OPTIONAL),
      indices_(indices, "indices", border::OPTIONAL),
      shift_(shift, "shift", border::OPTIONAL) {
  border::for_real(data_, [&](auto zero) {
    using T = decltype(zero);
    const bool twice = sizeof(T) == sizeof(double);
    if (!indptr_.given()) {
      const auto x = data_.array<T, 2>();
      view = {twice ? DENSE_F64 : DENSE_F32, nullptr, nullptr, x.data, nullptr, x.shape[0], x.shape[1]};
      if (shift_.given()) view.shift = vector_of(shift_, x.shape[1], "columns of data");
      return;
    }
    if (shift_.given()) border::refuse_value("shift must be None for CSR rows, got an array");
    border::check_scalar(columns >= 0, "columns", "at least 0", double(columns));
    border::for_index(indptr_, [&](auto index) {
      using I = decltype(index);
      const auto x = border::csr<T, I>(indptr_, indices_, data_, columns);
      const bool wide = sizeof(I) == sizeof(int64_t);
      const int form = wide ? (twice ? CSR_F64_I64 : CSR_F32_I64) : (twice ? CSR_F64_I32 : CSR_F32_I32);
      view = {form, x.indptr, x.indices, x.data, nullptr, x.rows, columns};
    });
  });
}

static void rows_times(const LinearRows& X, nb::handle w_, int64_t start, int64_t stop, nb::handle out_) {
  const Input w(w_, "w");
  const Output out(out_, "out");
  X.check_range(start, stop);
  const double* weights = vector_of(w, X.view.columns, "columns of X");
  double* values = vector_of(out, stop - start, "rows from start to stop");
  nb::gil_scoped_release released;
  design_table().times(X.view, weights, start, stop, values);
}

static void rows_times_some(const LinearRows& X, nb::handle w_, nb::handle which_, nb::handle out_) {
  const Input w(w_, "w"), which(which_, "which");
  const Output out(out_, "out");
  const auto rows = which.array<int64_t, 1>();
  border::check_indices(rows, X.view.rows, "rows of X");
  const double* weights = vector_of(w, X.view.columns, "columns of X");
  double* values = vector_of(out, rows.shape[0], "entries of which");
  nb::gil_scoped_release released;
  design_table().times_some(X.view, weights, rows.data, rows.shape[0], values);
}

static void rows_sums(const LinearRows& X, nb::handle V_, int64_t start, int64_t stop, nb::handle out_) {
  const Input V(V_, "V");
  const Output out(out_, "out");
  X.check_range(start, stop);
  const auto v = V.strided<double, 2>();
  const auto o = out.array<double, 2>();
  border::check_length(v, 1, stop - start, "rows from start to stop");
  if (v.shape[1] > 1 && v.strides[1] != 1) border::refuse_type("V must be contiguous along its rows");
  border::check_at_least(o, 0, X.view.columns, "columns of X");
  border::check_length(o, 1, v.shape[0], "rows of V");
  nb::gil_scoped_release released;
  design_table().sums(X.view, v.data, v.shape[0], v.strides[0], start, stop, o.data);
}

static void rows_gram(const LinearRows& X, nb::handle v_, int64_t start, int64_t stop, nb::handle out_) {
  const Input v(v_, "v");
  const Output out(out_, "out");
  X.check_range(start, stop);
  if (!X.sparse()) border::refuse_type("X must have CSR rows, got dense ones");
  const double* weights = vector_of(v, stop - start, "rows from start to stop");
  const auto o = out.array<double, 2>();
  border::check_length(o, 0, X.view.columns, "columns of X");
  border::check_length(o, 1, X.view.columns, "columns of X");
  nb::gil_scoped_release released;
  design_table().gram(X.view, weights, start, stop, o.data);
}

static int64_t rows_scaled(const LinearRows& X, nb::handle v_, int64_t start, int64_t stop, nb::handle out_) {
  const Input v(v_, "v");
  const Output out(out_, "out");
  X.check_range(start, stop);
  const double* weights = vector_of(v, stop - start, "rows from start to stop");
  return border::for_real(out, [&](auto zero) {
    using T = decltype(zero);
    const auto o = out.array<T, 2>();
    border::check_at_least(o, 0, stop - start, "rows from start to stop");
    border::check_length(o, 1, X.view.columns, "columns of X");
    nb::gil_scoped_release released;
    if constexpr (sizeof(T) == sizeof(float))
      return design_table().scaled_f32(X.view, weights, start, stop, o.data);
    else
      return design_table().scaled_f64(X.view, weights, start, stop, o.data);
  });
}

static void rows_squares(const LinearRows& X, int64_t start, int64_t stop, nb::handle out_, nb::handle v_) {
  const Output out(out_, "out");
  const Input v(v_, "v", border::OPTIONAL);
  X.check_range(start, stop);
  double* values = vector_of(out, stop - start, "rows from start to stop");
  const double* weights = v.given() ? vector_of(v, X.view.columns, "columns of X") : nullptr;
  nb::gil_scoped_release released;
  design_table().squares(X.view, weights, start, stop, values);
}

// ---- CSC: the tiles' cuts are made once and checked with every tile, for they come back from Python
template <class I> static CscView<I> columns_of(const Input& indptr, const Input& rows, int64_t n) {
  const auto p = indptr.array<I, 1>(), r = rows.array<I, 1>();
  border::check_at_least(p, 0, 1, "columns + 1");
  if (!border::monotone(p.data, p.shape[0]) || p.data[0] < 0 || int64_t(p.data[p.shape[0] - 1]) > r.shape[0])
    border::refuse_value("indptr must rise from 0 to at most the entries of rows");
  border::check_indices(r, n, "rows of X");
  return {p.data, r.data, p.shape[0] - 1};
}

static void csc_cuts(nb::handle indptr_, nb::handle rows_, int64_t n, int64_t tile, nb::handle cuts_) {
  const Input indptr(indptr_, "indptr"), rows(rows_, "rows");
  const Output cuts(cuts_, "cuts");
  border::check_scalar(tile > 0, "tile", "at least 1", double(tile));
  border::for_index(indptr, [&](auto index) {
    using I = decltype(index);
    const auto X = columns_of<I>(indptr, rows, n);
    const auto c = cuts.array<int64_t, 2>();
    border::check_length(c, 1, X.columns, "columns of X");
    nb::gil_scoped_release released;
    if constexpr (sizeof(I) == 4)
      design_table().csc_cuts_i32(X, tile, c.shape[0], c.data);
    else
      design_table().csc_cuts_i64(X, tile, c.shape[0], c.data);
  });
}

static void csc_tile(nb::handle rows_, nb::handle data_, nb::handle begin_, nb::handle end_, int64_t first,
                     nb::handle indptr_, nb::handle indices_, nb::handle values_) {
  const Input rows(rows_, "rows"), data(data_, "data"), begin(begin_, "begin"), end(end_, "end");
  const Output indptr(indptr_, "indptr"), indices(indices_, "indices"), values(values_, "values");
  const auto from = begin.array<int64_t, 1>(), to = end.array<int64_t, 1>();
  border::check_length(to, 0, from.shape[0], "entries of begin");
  border::for_index(rows, [&](auto index) {
    using I = decltype(index);
    border::for_real(data, [&](auto zero) {
      using T = decltype(zero);
      const auto r = rows.array<I, 1>();
      const auto x = data.array<T, 1>();
      const auto p = indptr.array<I, 1>(), i = indices.array<I, 1>();
      const auto v = values.array<T, 1>();
      border::check_length(x, 0, r.shape[0], "entries of rows");
      border::check_at_least(p, 0, 1, "rows of the tile + 1");
      border::check_length(v, 0, i.shape[0], "entries of indices");
      const int64_t count = p.shape[0] - 1;
      int64_t entries = 0;
      for (int64_t j = 0; j < from.shape[0]; j++) {
        border::check_range(from.data[j], to.data[j], r.shape[0], "entries of rows");
        for (int64_t q = from.data[j]; q < to.data[j]; q++)
          if (int64_t(r.data[q]) < first || int64_t(r.data[q]) >= first + count)
            border::refuse_value("begin and end must enclose rows of the tile only");
        entries += to.data[j] - from.data[j];
      }
      border::check_length(i, 0, entries, "entries between begin and end");
      const CscView<I> X{nullptr, r.data, from.shape[0]};
      const CsrTile<T, I> tile{p.data, i.data, v.data, count};
      nb::gil_scoped_release released;
      const auto& table = design_table();
      if constexpr (sizeof(I) == 4 && sizeof(T) == 4) table.csc_tile_f32_i32(X, x.data, from.data, to.data, first, tile);
      if constexpr (sizeof(I) == 4 && sizeof(T) == 8) table.csc_tile_f64_i32(X, x.data, from.data, to.data, first, tile);
      if constexpr (sizeof(I) == 8 && sizeof(T) == 4) table.csc_tile_f32_i64(X, x.data, from.data, to.data, first, tile);
      if constexpr (sizeof(I) == 8 && sizeof(T) == 8) table.csc_tile_f64_i64(X, x.data, from.data, to.data, first, tile);
    });
  });
}

void bind_design(nb::module_& m) {
  nb::set_leak_warnings(false);  // rows that a program still holds when it ends are no leak
  nb::class_<LinearRows>(m, "LinearRows")
      .def(nb::init<nb::handle, nb::handle, nb::handle, int64_t, nb::handle>(), "data"_a, "indptr"_a = nb::none(),
           "indices"_a = nb::none(), "columns"_a = -1, "shift"_a = nb::none())
      .def_prop_ro("shape", [](const LinearRows& X) { return nb::make_tuple(X.view.rows, X.view.columns); })
      .def_prop_ro("sparse", &LinearRows::sparse);
  m.def("rows_times", &rows_times, "X"_a, "w"_a, "start"_a, "stop"_a, "out"_a);
  m.def("rows_times_some", &rows_times_some, "X"_a, "w"_a, "which"_a, "out"_a);
  m.def("rows_sums", &rows_sums, "X"_a, "V"_a, "start"_a, "stop"_a, "out"_a);
  m.def("rows_gram", &rows_gram, "X"_a, "v"_a, "start"_a, "stop"_a, "out"_a);
  m.def("rows_scaled", &rows_scaled, "X"_a, "v"_a, "start"_a, "stop"_a, "out"_a);
  m.def("rows_squares", &rows_squares, "X"_a, "start"_a, "stop"_a, "out"_a, "v"_a = nb::none());
  m.def("csc_cuts", &csc_cuts, "indptr"_a, "rows"_a, "n"_a, "tile"_a, "cuts"_a);
  m.def("csc_tile", &csc_tile, "rows"_a, "data"_a, "begin"_a, "end"_a, "first"_a, "indptr"_a, "indices"_a, "values"_a);
}
