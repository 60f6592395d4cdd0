#include "tiles/tiles.h"

#include <limits>

#include "core/compound.h"

using nb::literals::operator""_a;

namespace {

// Powers beyond this are no kernel that anybody uses, and a bound keeps the loop short.
constexpr int MAX_DEGREE = 1024;

bool sums_differences(int kind) { return kind == TILE_DECAY || kind == TILE_MATERN || kind == TILE_RATIONAL; }

KernelForm checked_form(int kind, double degree, bool sparse) {
  border::check_scalar(kind >= TILE_EXP2 && kind <= TILE_TANIMOTO, "kind", "one of EXP2 to TANIMOTO", kind);
  if (kind == TILE_RATIONAL)
    border::check_scalar(degree > 0 && degree < std::numeric_limits<double>::infinity(), "degree", "positive", degree);
  else if (kind == TILE_MATERN)
    border::check_scalar(degree == 1 || degree == 3 || degree == 5, "degree", "1, 3 or 5 for MATERN", degree);
  else if (kind == TILE_ANGLE)
    border::check_scalar(degree == 0 || degree == 1 || degree == 2, "degree", "0, 1 or 2 for ANGLE", degree);
  else
    border::check_scalar(degree >= 1 && degree <= MAX_DEGREE && degree == int(degree), "degree",
                         "an integer from 1 to 1024", degree);
  if (sparse) border::check_scalar(!sums_differences(kind), "kind", "no sum of differences for sparse rows", kind);
  return {kind, degree};
}

// Panels that hold `count` columns of d entries: P and v, as long as whole panels are.
template <class T>
PackedColumns<T> checked_columns(const border::Input& P_, const border::Input& v_, int64_t d, int64_t count) {
  const auto P = P_.array<T, 3>();
  const auto v = v_.array<T, 1>();
  const int64_t width = functions_of<T>(tiles_table()).panel_width;
  border::check_length(P, 2, width, "panel_width of the instruction level in use");
  border::check_length(P, 1, d, "columns of the rows");
  border::check_length(v, 0, P.shape[0] * width, "columns of the panels");
  if (count > P.shape[0] * width || count <= (P.shape[0] - 1) * width)
    border::refuse_value("P has " + std::to_string(P.shape[0]) + " panels of " + std::to_string(width) +
                         " columns, which do not fit " + std::to_string(count) + " columns");
  return {P.data, v.data, count, d};
}
template <class T> int64_t all_columns(const border::Input& P_) {
  const auto P = P_.array<T, 3>();
  return P.shape[0] * P.shape[2];
}

template <class T> struct CheckedRows {
  DenseRows<T> rows;
  int64_t d;
  CheckedRows(const border::Input& A_, const border::Input& u_, int64_t start, int64_t stop) {
    const auto A = A_.strided<T, 2>();
    const auto u = u_.array<T, 1>();
    border::check_row_order(A);
    border::check_range(start, stop, A.shape[0], "rows of A");
    border::check_at_least(u, 0, A.shape[0], "rows of A");
    rows = {A.data, A.strides[0], u.data}, d = A.shape[1];
  }
};

template <class T> T* checked_block(const border::Output& out_, int64_t rows, BlockOut<T>& block, int64_t& columns) {
  const auto out = out_.strided<T, 2>();
  border::check_row_order(out);
  border::check_at_least(out, 0, rows, "stop");
  block = {out.data, out.strides[0]}, columns = out.shape[1];
  return out.data;
}

void kernel_matvec_dense(nb::handle A_, nb::handle u_, nb::handle P_, nb::handle v_, nb::handle coef_, int kind,
                         double degree, nb::handle out_, int64_t start, int64_t stop) {
  const border::Input A(A_, "A"), u(u_, "u"), P(P_, "P"), v(v_, "v"), coef(coef_, "coef");
  const border::Output out(out_, "out");
  const KernelForm form = checked_form(kind, degree, false);
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const CheckedRows<T> left(A, u, start, stop);
    const PackedColumns<T> right = checked_columns<T>(P, v, left.d, all_columns<T>(P));
    const auto weights = coef.array<T, 1>();
    const auto sums = out.array<double, 1>();
    border::check_length(weights, 0, right.count, "columns of the panels");
    border::check_at_least(sums, 0, stop, "stop");
    nb::gil_scoped_release released;
    functions_of<T>(tiles_table()).matvec_dense(left.rows, right, form, weights.data, sums.data, start, stop);
  });
}

void kernel_block_dense(nb::handle A_, nb::handle u_, nb::handle P_, nb::handle v_, int kind, double degree,
                        nb::handle out_, int64_t start, int64_t stop) {
  const border::Input A(A_, "A"), u(u_, "u"), P(P_, "P"), v(v_, "v");
  const border::Output out(out_, "out");
  const KernelForm form = checked_form(kind, degree, false);
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const CheckedRows<T> left(A, u, start, stop);
    BlockOut<T> block;
    int64_t columns;
    checked_block<T>(out, stop, block, columns);
    const PackedColumns<T> right = checked_columns<T>(P, v, left.d, columns);
    nb::gil_scoped_release released;
    functions_of<T>(tiles_table()).block_dense(left.rows, right, form, block, start, stop);
  });
}

// The CSR rows at[start..stop) with their u; `f(rows, panels' d)` by value and index type.
template <class F>
void with_csr_rows(nb::handle A_, nb::handle at_, nb::handle u_, const border::Input& P, int64_t start, int64_t stop,
                   F&& f) {
  const border::CsrInput A(A_, "A");
  const border::Input at(at_, "rows"), u(u_, "u");
  border::for_real(A.data, [&](auto zero) {
    using T = decltype(zero);
    const auto panels = P.array<T, 3>();
    const auto places = at.array<int64_t, 1>();
    const auto own = u.array<T, 1>();
    border::for_index(A.indices, [&](auto index) {
      using I = decltype(index);
      const auto matrix = A.matrix_at<T, I>(panels.shape[1], places, start, stop);
      border::check_at_least(own, 0, matrix.rows, "rows of the matrix");
      f(CsrRows<T, I>{matrix, places.data, own.data});
    });
  });
}

void kernel_matvec_csr(nb::handle A, nb::handle rows_, nb::handle u, nb::handle P_, nb::handle v_, nb::handle coef_,
                       int kind, double degree, nb::handle out_, int64_t start, int64_t stop) {
  const border::Input P(P_, "P"), v(v_, "v"), coef(coef_, "coef");
  const border::Output out(out_, "out");
  const KernelForm form = checked_form(kind, degree, true);
  with_csr_rows(A, rows_, u, P, start, stop, [&]<class T, class I>(const CsrRows<T, I>& rows) {
    const PackedColumns<T> right = checked_columns<T>(P, v, rows.matrix.columns, all_columns<T>(P));
    const auto weights = coef.array<T, 1>();
    const auto sums = out.array<double, 1>();
    border::check_length(weights, 0, right.count, "columns of the panels");
    border::check_at_least(sums, 0, stop, "stop");
    nb::gil_scoped_release released;
    const auto& functions = functions_of<T>(tiles_table());
    if constexpr (sizeof(I) == 4)
      functions.matvec_csr_i32(rows, right, form, weights.data, sums.data, start, stop);
    else
      functions.matvec_csr_i64(rows, right, form, weights.data, sums.data, start, stop);
  });
}

void kernel_block_csr(nb::handle A, nb::handle rows_, nb::handle u, nb::handle P_, nb::handle v_, int kind,
                      double degree, nb::handle out_, int64_t start, int64_t stop) {
  const border::Input P(P_, "P"), v(v_, "v");
  const border::Output out(out_, "out");
  const KernelForm form = checked_form(kind, degree, true);
  with_csr_rows(A, rows_, u, P, start, stop, [&]<class T, class I>(const CsrRows<T, I>& rows) {
    BlockOut<T> block;
    int64_t columns;
    checked_block<T>(out, stop, block, columns);
    const PackedColumns<T> right = checked_columns<T>(P, v, rows.matrix.columns, columns);
    nb::gil_scoped_release released;
    const auto& functions = functions_of<T>(tiles_table());
    if constexpr (sizeof(I) == 4)
      functions.block_csr_i32(rows, right, form, block, start, stop);
    else
      functions.block_csr_i64(rows, right, form, block, start, stop);
  });
}

// Panels to fill, for `count` columns.
template <class T> struct PanelsOut {
  T *P, *v;
  PanelsOut(const border::Output& P_, const border::Output& v_, int64_t d, int64_t count) {
    const auto panels = P_.array<T, 3>();
    const auto own = v_.array<T, 1>();
    const int64_t width = functions_of<T>(tiles_table()).panel_width;
    border::check_length(panels, 2, width, "panel_width of the instruction level in use");
    border::check_length(panels, 1, d, "columns of the rows");
    border::check_length(panels, 0, (count + width - 1) / width, "panels for the rows at");
    border::check_length(own, 0, panels.shape[0] * width, "columns of the panels");
    P = panels.data, v = own.data;
  }
};
template <class T> const T* checked_own(const border::Input& own_, int64_t rows) {
  if (!own_.given()) return nullptr;
  const auto own = own_.array<T, 1>();
  border::check_at_least(own, 0, rows, "rows");
  return own.data;
}

void pack_dense(nb::handle A_, nb::handle own_v_, nb::handle at_, nb::handle P_, nb::handle v_) {
  const border::Input A(A_, "A"), own_v(own_v_, "own_v", border::OPTIONAL), at(at_, "at");
  const border::Output P(P_, "P"), v(v_, "v");
  border::for_real(A, [&](auto zero) {
    using T = decltype(zero);
    const auto a = A.strided<T, 2>();
    const auto places = at.array<int64_t, 1>();
    border::check_row_order(a);
    border::check_indices(places, a.shape[0], "rows of A");
    const T* own = checked_own<T>(own_v, a.shape[0]);
    const PanelsOut<T> panels(P, v, a.shape[1], places.shape[0]);
    nb::gil_scoped_release released;
    functions_of<T>(tiles_table())
        .pack_dense(a.data, a.strides[0], a.shape[1], own, places.data, places.shape[0], panels.P, panels.v);
  });
}

void pack_csr(nb::handle A_, nb::handle own_v_, nb::handle at_, nb::handle P_, nb::handle v_) {
  const border::CsrInput A(A_, "A");
  const border::Input own_v(own_v_, "own_v", border::OPTIONAL), at(at_, "at");
  const border::Output P(P_, "P"), v(v_, "v");
  border::for_real(A.data, [&](auto zero) {
    using T = decltype(zero);
    const auto places = at.array<int64_t, 1>();
    const int64_t count = places.shape[0], d = P.array<T, 3>().shape[1];
    border::for_index(A.indices, [&](auto index) {
      using I = decltype(index);
      const auto matrix = A.matrix_at<T, I>(d, places, 0, count);
      const T* own = checked_own<T>(own_v, matrix.rows);
      const PanelsOut<T> panels(P, v, d, count);
      nb::gil_scoped_release released;
      const auto& functions = functions_of<T>(tiles_table());
      if constexpr (sizeof(I) == 4)
        functions.pack_csr_i32(matrix, own, places.data, count, panels.P, panels.v);
      else
        functions.pack_csr_i64(matrix, own, places.data, count, panels.P, panels.v);
    });
  });
}

void decays(nb::handle s_, double rate, nb::handle out_) {
  const border::Input s(s_, "s");
  const border::Output out(out_, "out");
  border::check_scalar(rate >= 0 && rate < std::numeric_limits<double>::infinity(), "rate", "not negative", rate);
  border::for_real(s, [&](auto zero) {
    using T = decltype(zero);
    const auto sums = s.array<T, 2>();
    const auto values = out.array<T, 2>();
    border::check_length(values, 0, sums.shape[0], "rows of s");
    border::check_length(values, 1, sums.shape[1], "columns of s");
    nb::gil_scoped_release released;
    functions_of<T>(tiles_table()).decays(sums.data, sums.shape[0] * sums.shape[1], T(rate), values.data);
  });
}

int64_t panel_width(nb::handle dtype) {
  const nb::object name = nb::module_::import_("numpy").attr("dtype")(dtype).attr("name");
  const std::string text = nb::str(name).c_str();
  if (text == "float32") return tiles_table().single.panel_width;
  if (text == "float64") return tiles_table().twice.panel_width;
  border::refuse_type("dtype must be float32 or float64, got " + text);
}

}  // namespace

void bind_tiles(nb::module_& m) {
  m.attr("EXP2") = int(TILE_EXP2);
  m.attr("POWER") = int(TILE_POWER);
  m.attr("TANH") = int(TILE_TANH);
  m.attr("DECAY") = int(TILE_DECAY);
  m.attr("MATERN") = int(TILE_MATERN);
  m.attr("RATIONAL") = int(TILE_RATIONAL);
  m.attr("ANGLE") = int(TILE_ANGLE);
  m.attr("TANIMOTO") = int(TILE_TANIMOTO);
  m.def("panel_width", &panel_width, "dtype"_a);
  m.def("decays", &decays, "s"_a, "rate"_a, "out"_a);
  m.def("pack_dense", &pack_dense, "A"_a, "own_v"_a.none(), "at"_a, "P"_a, "v"_a);
  m.def("pack_csr", &pack_csr, "A"_a, "own_v"_a.none(), "at"_a, "P"_a, "v"_a);
  m.def("kernel_matvec_dense", &kernel_matvec_dense, "A"_a, "u"_a, "P"_a, "v"_a, "coef"_a, "kind"_a, "degree"_a,
        "out"_a, "start"_a, "stop"_a);
  m.def("kernel_block_dense", &kernel_block_dense, "A"_a, "u"_a, "P"_a, "v"_a, "kind"_a, "degree"_a, "out"_a,
        "start"_a, "stop"_a);
  m.def("kernel_matvec_csr", &kernel_matvec_csr, "A"_a, "rows"_a, "u"_a, "P"_a, "v"_a,
        "coef"_a, "kind"_a, "degree"_a, "out"_a, "start"_a, "stop"_a);
  m.def("kernel_block_csr", &kernel_block_csr, "A"_a, "rows"_a, "u"_a, "P"_a, "v"_a,
        "kind"_a, "degree"_a, "out"_a, "start"_a, "stop"_a);
}
